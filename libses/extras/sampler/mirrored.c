#include "mirrored.h"

#include "table_file.h"

#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

bool smed_mirrored_begin(struct smed_mirrored *mirrored, const char *path, uint32_t count) {
  mirrored->window_ns = mirrored->newest = 0;
  if (mirrored->table != NULL && mirrored->table->count == count) {
    memset(mirrored->last, 0, count * sizeof(uint64_t));
    return true;
  }
  if (mirrored->table != NULL)
    munmap(mirrored->table, smed_table_bytes(mirrored->table->count));
  free(mirrored->last);
  mirrored->last = calloc(count, sizeof(uint64_t));
  mirrored->table =
      mirrored->last == NULL ? NULL : smed_table_make(path, count, 0, SMED_VIA_NOTHING);
  return mirrored->table != NULL;
}

static const struct smed_sample *whole(const struct smed_record *record) {
  return smed_record_is_whole(record) ? (const struct smed_sample *)record->words : NULL;
}

/* This node's clock less the other's, now that a sample of THEIRS has come at NOW_NS. */
static uint64_t offset(struct smed_mirrored *mirrored, uint64_t theirs, uint64_t now_ns) {
  uint64_t seen = now_ns - theirs; /* modulo 2^64: the other node may have started first */

  if (mirrored->window_ns == 0)
    mirrored->offset[0] = mirrored->offset[1] = seen, mirrored->window_ns = now_ns;
  if (now_ns - mirrored->window_ns > SMED_CLOCK_NS) {
    mirrored->offset[1] = mirrored->offset[0];
    mirrored->offset[0] = seen, mirrored->window_ns = now_ns;
  }
  if ((int64_t)(seen - mirrored->offset[0]) < 0)
    mirrored->offset[0] = seen;
  return (int64_t)(mirrored->offset[1] - mirrored->offset[0]) < 0 ? mirrored->offset[1]
                                                                  : mirrored->offset[0];
}

bool smed_mirrored_take(struct smed_mirrored *mirrored, const struct smed_table *copy,
                        uint64_t now_ns) {
  struct smed_table *table = mirrored->table;
  uint64_t newest = 0;

  if (!ses_segment_is(copy, &table->segment) || copy->count != table->count ||
      copy->record_bytes != sizeof(struct smed_record))
    return false;
  for (uint32_t i = 0; i < table->count; i++) {
    const struct smed_sample *sample = whole(&copy->records[i]);

    if (sample != NULL && sample->monotonic_ns > newest)
      newest = sample->monotonic_ns;
  }
  bool is_first = mirrored->newest == 0, is_old = newest == mirrored->newest;
  mirrored->newest = newest;
  if (is_first || is_old)
    return true;
  table->period_ns = copy->period_ns > mirrored->period_ns ? copy->period_ns : mirrored->period_ns;
  uint64_t ours = offset(mirrored, newest, now_ns);
  for (uint32_t i = 0; i < table->count; i++) {
    const struct smed_sample *sample = whole(&copy->records[i]);

    if (sample == NULL || sample->monotonic_ns == mirrored->last[i])
      continue;
    mirrored->last[i] = sample->monotonic_ns;
    memcpy(table->records[i].name, copy->records[i].name, sizeof(table->records[i].name));
    struct smed_sample moved = *sample;
    moved.monotonic_ns += ours;
    smed_table_write(&table->records[i], &moved);
  }
  return true;
}
