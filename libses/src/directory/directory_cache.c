#include "directory/directory_cache.h"

#include "runtime/cache.h"
#include "runtime/clock.h"

#define KNOWN_MS 1000u
#define MAJOR_BITS 12u /* of a device number, as the kernel has them */
#define MINOR_BITS 20u

/* One key for both; two of its writers at once lead to the same directory, but for one that has
 * just been exchanged. */
static struct ses_cache inodes;
static struct ses_cache devices; /* and above them when they are to be looked at again (ms) */

static atomic_bool any;

bool ses_directory_cache_any(void) { return atomic_load_explicit(&any, memory_order_relaxed); }

bool ses_directory_cache_get(uint64_t key, struct ses_cached_directory *directory) {
  uint64_t device;
  if (!ses_cache_get(&devices, key, &device) || !ses_cache_get(&inodes, key, &directory->inode) ||
      (int32_t)((uint32_t)(device >> 32) - (uint32_t)ses_clock_ms()) <= 0)
    return false;
  directory->major = (unsigned)(device >> MINOR_BITS) & ((1u << MAJOR_BITS) - 1);
  directory->minor = (unsigned)device & ((1u << MINOR_BITS) - 1);
  return true;
}

void ses_directory_cache_put(uint64_t key, const struct ses_cached_directory *directory) {
  if (directory->major >> MAJOR_BITS || directory->minor >> MINOR_BITS)
    return;
  uint64_t until = (uint32_t)ses_clock_ms() + KNOWN_MS;
  atomic_store_explicit(&any, true, memory_order_relaxed);
  ses_cache_put(&inodes, key, directory->inode);
  ses_cache_put(&devices, key, until << 32 | directory->major << MINOR_BITS | directory->minor);
}
