#include "backend.h"

#include <errno.h>
#include <stddef.h>

static const struct ses_backend_row *const rows[] = {
    &ses_backend_mergerfs,
};

#define ROWS (sizeof rows / sizeof rows[0])

bool ses_backend_recognises(unsigned long file_system) {
  for (size_t i = 0; i < ROWS; i++)
    if (rows[i]->file_system == file_system)
      return true;
  return false;
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

int ses_backend_create(struct ses_creation *creation) {
  const struct ses_backend_row *row = row_of(creation->answer);
  return row ? row->create(creation) : -ENOSYS;
}
