/*
 * A small table from 64-bit keys to 64-bit values, for what is cheap to find
 * again: no lock, and what meets in one slot is pushed out.
 *
 * Each slot is two words, the value and the key xor the value, so that halves
 * of two writers never look like a pair.  Keys have to be well mixed, and two
 * things of the same key are taken for one.
 */
#ifndef SES_CACHE_H
#define SES_CACHE_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

#define SES_CACHE_SLOTS 16u

struct ses_cache {
  struct {
    _Atomic uint64_t value;
    _Atomic uint64_t check;
  } slots[SES_CACHE_SLOTS];
};

/* Every bit of the result depends on every bit of VALUE (the finalizer of MurmurHash3, public
 * domain). */
static inline uint64_t ses_cache_mix(uint64_t value) {
  value = (value ^ value >> 33) * 0xff51afd7ed558ccdu;
  value = (value ^ value >> 33) * 0xc4ceb9fe1a85ec53u;
  return value ^ value >> 33;
}

/* KEY must not be 0. */
static inline bool ses_cache_get(struct ses_cache *cache, uint64_t key, uint64_t *value) {
  unsigned slot = (unsigned)(key % SES_CACHE_SLOTS);
  uint64_t check = atomic_load_explicit(&cache->slots[slot].check, memory_order_relaxed);
  *value = atomic_load_explicit(&cache->slots[slot].value, memory_order_relaxed);
  return (check ^ *value) == key;
}

static inline void ses_cache_put(struct ses_cache *cache, uint64_t key, uint64_t value) {
  unsigned slot = (unsigned)(key % SES_CACHE_SLOTS);
  atomic_store_explicit(&cache->slots[slot].value, value, memory_order_relaxed);
  atomic_store_explicit(&cache->slots[slot].check, key ^ value, memory_order_relaxed);
}

#endif /* SES_CACHE_H */
