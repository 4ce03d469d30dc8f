#include "directory/default_acl.h"

#include "runtime/cache.h"
#include "runtime/clock.h"

#define REMEMBERED_MS 10u

static struct ses_cache cache;

static _Atomic uint64_t changes;

static uint64_t key_of(unsigned major, unsigned minor, uint64_t inode, uint64_t seen) {
  return ses_cache_mix(ses_cache_mix(ses_cache_mix((uint64_t)major << 32 | minor) + seen) ^ inode);
}

uint64_t ses_directory_changes(void) {
  return atomic_load_explicit(&changes, memory_order_acquire);
}

void ses_directory_forget(void) { atomic_fetch_add_explicit(&changes, 1, memory_order_acq_rel); }

bool ses_directory_suits(unsigned major, unsigned minor, uint64_t inode) {
  uint64_t until = 0;
  return ses_cache_get(&cache, key_of(major, minor, inode, ses_directory_changes()), &until) &&
         ses_clock_ms() < until;
}

void ses_directory_remember(unsigned major, unsigned minor, uint64_t inode, uint64_t seen) {
  ses_cache_put(&cache, key_of(major, minor, inode, seen), ses_clock_ms() + REMEMBERED_MS);
}
