/*
 * ses_loads: the loads of elements, copied out of the node's candidate table (ses/table.h).
 *
 * Does NOT count what this node's programs claimed within the last milliseconds and the agent has
 * not taken up yet.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>

#include "runtime/clock.h"
#include "segments/published.h"
#include "ses/sequence.h"
#include "ses/ses.h"

#define TRIES 1000
#define MB 1e6
#define GB 1e9

_Static_assert(sizeof(ses_load) == 64, "the size of a load is part of the ABI");

struct ses_loads {
  unsigned major;
  unsigned minor;
  unsigned count; /* rows of the last read */
  bool named;     /* the names are those of `epoch` */
  uint64_t epoch;
  char elements[SES_TABLE_ELEMENTS][SES_ELEMENT_MAX];
};

static const struct ses_table_system *system_of(const ses_loads *loads) {
  unsigned mount, system;
  const struct ses_table *table = ses_table_segment();
  return table && ses_table_find(table, loads->major, loads->minor, &mount, &system)
             ? &table->systems[system]
             : NULL;
}

ses_loads *ses_loads_open(const char *directory) {
  struct stat seen;
  if (stat(directory, &seen) != 0)
    return NULL;
  ses_loads *loads = calloc(1, sizeof *loads);
  if (!loads)
    return NULL;
  loads->major = major(seen.st_dev);
  loads->minor = minor(seen.st_dev);
  if (system_of(loads))
    return loads;
  free(loads);
  errno = ENODEV;
  return NULL;
}

void ses_loads_close(ses_loads *loads) { free(loads); }

static uint32_t state_of(const struct ses_table_system *system, unsigned row, uint64_t excluded) {
  const struct ses_core_element *element = &system->elements[row];
  bool off = element->state & (SES_CORE_INACTIVE | SES_CORE_READ_ONLY | SES_CORE_DRAINING);
  bool full = element->free - element->reserved < system->policy.minimum_free;
  return (off || full || (excluded >> row & 1) ? SES_LOAD_REFUSES : 0u) |
         (element->state & SES_CORE_DEGRADED ? SES_LOAD_DEGRADED : 0u) |
         (element->state & SES_CORE_SCARCE ? SES_LOAD_SCARCE : 0u);
}

static void copy_row(const struct ses_table_system *system, unsigned row, uint64_t excluded,
                     ses_load *into) {
  const struct ses_core_element *element = &system->elements[row];
  *into = (ses_load){
      .read_mb_s = element->read_rate / MB,
      .write_mb_s = element->write_rate / MB,
      .free_gb = (element->free - element->reserved) / GB,
      .own = element->own,
      .foreign = element->foreign,
      .busy = element->busy,
      .state = state_of(system, row, excluded),
      .number = system->numbers[row],
  };
}

static void copy_names(ses_loads *loads, const struct ses_table_system *system) {
  for (unsigned row = 0; row < loads->count; row++) {
    memcpy(loads->elements[row], system->places[row].element, SES_ELEMENT_MAX);
    loads->elements[row][SES_ELEMENT_MAX - 1] = '\0';
  }
}

/* False: the table was written meanwhile. */
static bool copy(ses_loads *loads, const struct ses_table_system *system, ses_load *rows,
                 unsigned room, double *age) {
  uint32_t sequence = ses_sequence_of(&system->sequence);
  uint32_t count = __atomic_load_n(&system->count, __ATOMIC_RELAXED);
  if (sequence % 2 != 0 || count > SES_TABLE_ELEMENTS)
    return false;
  uint64_t epoch = system->epoch, sent = system->sent_ms, now = ses_clock_ms();
  uint64_t excluded = __atomic_load_n(&system->excluded, __ATOMIC_RELAXED);
  for (unsigned row = 0; row < count && row < room; row++)
    copy_row(system, row, excluded, &rows[row]);
  loads->count = count;
  if (!loads->named || epoch != loads->epoch)
    copy_names(loads, system);
  if (age)
    *age = now > sent ? (double)(now - sent) / 1000 : 0;
  loads->named = ses_sequence_is_same(&system->sequence, sequence);
  loads->epoch = epoch;
  return loads->named;
}

int ses_loads_read(ses_loads *loads, ses_load *rows, unsigned room, double *age_seconds) {
  if (!loads) {
    errno = EINVAL;
    return -1;
  }
  const struct ses_table_system *system = system_of(loads);
  loads->count = 0;
  if (!system) {
    errno = ENODEV;
    return -1;
  }
  for (int i = 0; i < TRIES; i++)
    if (copy(loads, system, rows, room, age_seconds))
      return (int)loads->count;
  loads->count = 0;
  errno = EAGAIN;
  return -1;
}

const char *ses_loads_element(const ses_loads *loads, unsigned row) {
  return loads && row < loads->count ? loads->elements[row] : NULL;
}
