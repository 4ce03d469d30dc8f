/*
 * Sequence counters of records in shared memory: who reads notices that what was read is not of one
 * moment (H.-J. Boehm, "Can Seqlocks Get Along With Programming Language Memory Models?", MSPC
 * 2012).
 *
 * 0: never written; odd: being written; any other number: written so often, and different after
 * each writing.  One writer at a time.  A reader takes the counter, copies what it needs, and asks
 * whether the counter is the same; what it copied is worth nothing if not.
 *
 * Who writes for people that could change the counter keeps LAST itself, and does not read it back.
 */
#ifndef SES_SEQUENCE_H
#define SES_SEQUENCE_H

#include <stdbool.h>
#include <stdint.h>

static inline uint32_t ses_sequence_of(const uint32_t *at) {
  return __atomic_load_n(at, __ATOMIC_ACQUIRE);
}

static inline bool ses_sequence_is_whole(uint32_t sequence) {
  return sequence != 0 && sequence % 2 == 0;
}

/* Was nothing written since the counter was BEFORE? */
static inline bool ses_sequence_is_same(const uint32_t *at, uint32_t before) {
  __atomic_thread_fence(__ATOMIC_ACQUIRE);
  return __atomic_load_n(at, __ATOMIC_RELAXED) == before;
}

/* From here on readers see that the record is being written. */
static inline void ses_sequence_begin(uint32_t *at, uint32_t last) {
  __atomic_store_n(at, last | 1, __ATOMIC_RELAXED);
  __atomic_thread_fence(__ATOMIC_RELEASE);
}

/* It is written; gives the counter, which is the LAST of the next writing. */
static inline uint32_t ses_sequence_end(uint32_t *at, uint32_t last) {
  uint32_t next = (last | 1) + 1;
  if (next == 0)
    next = 2;
  __atomic_store_n(at, next, __ATOMIC_RELEASE);
  return next;
}

#endif /* SES_SEQUENCE_H */
