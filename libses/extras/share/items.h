/*
 * An item as one process has it: where its slots are, and what it has got of the value.
 */
#ifndef SES_SHM_ITEMS_H
#define SES_SHM_ITEMS_H

#include "region.h"

struct ses_share_item {
  struct ses_share *share;
  struct ses_remote *remote; /* of another node; `record` and `at` are not used then */
  uint32_t remote_number;    /* there */
  struct ses_share_record *record;
  uint64_t generation; /* of the record, while the item is this one */
  uint64_t at;
  uint64_t bytes;
  uint64_t slot_bytes;
  uint64_t versions;
  uint64_t age_ns;
  uint32_t slots;
  uint32_t model;
  /* DELTA and NULL: what was got last; NULL: nothing yet */
  char *copy;
  uint64_t copy_version;
  uint64_t copy_bytes;
};

static inline struct ses_share_slot *ses_share_slot_of(const struct ses_share_item *item,
                                                       uint64_t version) {
  return (struct ses_share_slot *)(item->share->at + item->at +
                                   version % item->slots * item->slot_bytes);
}

/* False: it was freed. */
static inline bool ses_share_item_lives(const struct ses_share_item *item) {
  return atomic_load_explicit(&item->record->generation, memory_order_acquire) == item->generation;
}

struct ses_remote_call;

/* Ask the other node for OPERATION on an item of its. */
int ses_share_ask(const struct ses_share_item *item, uint32_t operation,
                  struct ses_remote_call *call);

#endif /* SES_SHM_ITEMS_H */
