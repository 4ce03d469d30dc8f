#include "backends/backend.h"

#include <errno.h>
#include <stddef.h>

#include "settings/settings.h"

static const struct ses_backend_row *const rows[] = {
    &ses_backend_mergerfs,
    &ses_backend_lustre,
};

#define ROWS (sizeof rows / sizeof rows[0])

const struct ses_backend_row *ses_backend_of(unsigned long file_system) {
  if (ses_settings()->lustre_standin && file_system == ses_backend_mergerfs.file_system)
    return &ses_backend_lustre;
  for (size_t i = 0; i < ROWS; i++)
    if (rows[i]->file_system == file_system)
      return rows[i];
  return NULL;
}

static const struct ses_backend_row *row_of(const struct ses_answer *answer) {
  for (size_t i = 0; i < ROWS; i++)
    if (rows[i]->backend == answer->backend)
      return rows[i];
  return NULL;
}

bool ses_backend_accepts(const struct ses_answer *answer) {
  const struct ses_backend_row *row = row_of(answer);
  return row && row->accepts(answer);
}

bool ses_backend_is_in_place(const struct ses_answer *answer) {
  const struct ses_backend_row *row = row_of(answer);
  return row && row->in_place;
}

bool ses_backend_suits_in_place(const char *name, int flags) {
  for (size_t i = 0; i < ROWS; i++)
    if (rows[i]->in_place && rows[i]->suits && !rows[i]->suits(name, flags))
      return false;
  return true;
}

unsigned ses_backend_width_in_place(struct ses_creation *creation) {
  for (size_t i = 0; i < ROWS; i++)
    if (rows[i]->in_place && rows[i]->width)
      return rows[i]->width(creation);
  return 0;
}

int ses_backend_create(struct ses_creation *creation) {
  const struct ses_backend_row *row = row_of(creation->answer);
  return row ? row->create(creation) : -ENOSYS;
}
