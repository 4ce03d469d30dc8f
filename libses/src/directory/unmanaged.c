#include "directory/unmanaged.h"

#include <string.h>

#include "runtime/cache.h"
#include "runtime/clock.h"

#define REMEMBERED_MS 10u

static struct ses_cache cache;

/* Two ways of one key would be taken for each other, which costs a placement at worst. */
uint64_t ses_unmanaged_key(const char *way, size_t length) {
  uint64_t key = length;
  uint64_t word;
  for (; length >= sizeof word; way += sizeof word, length -= sizeof word) {
    memcpy(&word, way, sizeof word);
    key = (key ^ word) * 0x9e3779b97f4a7c15u;
    key ^= key >> 32;
  }
  for (word = 0; length > 0; length--)
    word = word << 8 | (unsigned char)way[length - 1];
  key = ses_cache_mix(key ^ word);
  return key ? key : 1;
}

bool ses_unmanaged_is(uint64_t key) {
  uint64_t until = 0;
  return ses_cache_get(&cache, key, &until) && ses_clock_ms() < until;
}

void ses_unmanaged_remember(uint64_t key) {
  ses_cache_put(&cache, key, ses_clock_ms() + REMEMBERED_MS);
}
