#include "directory/device.h"

#include <stdatomic.h>
#include <stdint.h>

#include "runtime/clock.h"

#define SLOTS 32u
#define SECONDS_BY_KIND 60u
#define SECONDS_BY_AGENT 5u

/* Device number (32 bits), end of validity in seconds (30), state (2). */
static _Atomic uint64_t slots[SLOTS];

static uint32_t number_of(unsigned major, unsigned minor) {
  return major << 20 | (minor & 0xfffff);
}

static _Atomic uint64_t *slot_of(uint32_t device) { return &slots[(device * 2654435769u) >> 27]; }

static uint32_t seconds_now(void) { return (uint32_t)(ses_clock_ms() / 1000) & 0x3fffffff; }

enum ses_device_state ses_device_lookup(unsigned major, unsigned minor) {
  uint32_t device = number_of(major, minor);
  uint64_t seen = atomic_load_explicit(slot_of(device), memory_order_relaxed);
  if (seen == 0 || seen >> 32 != device || seconds_now() >= (uint32_t)seen >> 2)
    return SES_DEVICE_UNKNOWN;
  return (enum ses_device_state)(seen & 3);
}

void ses_device_remember(unsigned major, unsigned minor, enum ses_device_state state,
                         bool by_agent) {
  uint32_t device = number_of(major, minor);
  uint32_t until = seconds_now() + (by_agent ? SECONDS_BY_AGENT : SECONDS_BY_KIND);
  atomic_store_explicit(slot_of(device),
                        (uint64_t)device << 32 | (uint32_t)(until << 2) | (uint32_t)state,
                        memory_order_relaxed);
}
