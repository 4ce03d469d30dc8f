/*
 * What the records of a region say, bounded, and the room that their items leave.
 */
#ifndef SES_SHM_RECORDS_H
#define SES_SHM_RECORDS_H

#include "items.h"

/* Odd: in use. */
static inline uint64_t ses_share_generation_of(const struct ses_share_record *record) {
  return atomic_load_explicit(&record->generation, memory_order_acquire);
}

/* What an item's record says, each number read once.  False: no region of this library has such
 * numbers. */
bool ses_share_read_record(const struct ses_share *share, const struct ses_share_record *record,
                           struct ses_share_item *item);

/* The LARGEST free part of the heap, and where one of WANTED bytes is (0: there is none).  0 or
 * ENOMEM. */
int ses_share_gap(const struct ses_share *share, uint64_t wanted, uint64_t *at, uint64_t *largest);

#endif /* SES_SHM_RECORDS_H */
