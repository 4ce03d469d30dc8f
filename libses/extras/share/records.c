#include "records.h"

#include <errno.h>
#include <stdlib.h>

struct extent {
  uint64_t from;
  uint64_t to;
};

static uint64_t once(const uint64_t *at) { return __atomic_load_n(at, __ATOMIC_RELAXED); }

bool ses_share_read_record(const struct ses_share *share, const struct ses_share_record *record,
                           struct ses_share_item *item) {
  item->at = once(&record->at);
  item->bytes = once(&record->bytes);
  item->versions = once(&record->versions);
  item->age_ns = once(&record->age_ns);
  item->model = __atomic_load_n(&record->model, __ATOMIC_RELAXED);
  item->slots = __atomic_load_n(&record->slots, __ATOMIC_RELAXED);
  atomic_thread_fence(memory_order_acquire); /* before who asks whether it is still that item */
  if (item->bytes == 0 || item->bytes > share->bytes || item->slots < 2 ||
      item->slots > SES_SHARE_VERSIONS_MAX + 1 || item->model > SES_SHARE_NULL)
    return false;
  item->slot_bytes = ses_share_slot_bytes(item->bytes);
  return item->at >= share->heap && item->at % SES_SHARE_LINE == 0 && item->at <= share->bytes &&
         item->slots * item->slot_bytes <= share->bytes - item->at;
}

static int by_start(const void *first, const void *second) {
  uint64_t a = ((const struct extent *)first)->from, b = ((const struct extent *)second)->from;
  return (a > b) - (a < b);
}

int ses_share_gap(const struct ses_share *share, uint64_t wanted, uint64_t *at, uint64_t *largest) {
  struct extent *taken = malloc((share->items + 1) * sizeof *taken);
  struct ses_share_item stored;
  uint64_t from = share->heap;
  uint32_t count = 0;
  *at = *largest = 0;
  if (!taken)
    return ENOMEM;
  for (uint32_t i = 0; i < share->items; i++) {
    const struct ses_share_record *record = ses_share_record_of(share, i);
    if ((ses_share_generation_of(record) & 1) != 0 && ses_share_read_record(share, record, &stored))
      taken[count++] = (struct extent){stored.at, stored.at + stored.slots * stored.slot_bytes};
  }
  qsort(taken, count, sizeof *taken, by_start);
  taken[count] = (struct extent){share->bytes, share->bytes};
  for (uint32_t i = 0; i <= count; i++) {
    uint64_t gap = taken[i].from > from ? taken[i].from - from : 0;
    if (gap > *largest)
      *largest = gap;
    if (gap >= wanted && *at == 0)
      *at = from;
    if (taken[i].to > from)
      from = taken[i].to;
  }
  free(taken);
  return 0;
}
