#include "agent/breaker.h"

#include <stdatomic.h>
#include <stdint.h>

#include "runtime/clock.h"

#define PAUSE_FIRST_MS 200u
#define PAUSE_DOUBLINGS 8u

/* 0: closed.  Else failures in a row in the low byte, the end of the pause (ms) above it. */
static _Atomic uint64_t state;

static uint64_t paused(uint64_t failures) {
  uint64_t doublings = failures - 1 < PAUSE_DOUBLINGS ? failures - 1 : PAUSE_DOUBLINGS;
  return (ses_clock_ms() + ((uint64_t)PAUSE_FIRST_MS << doublings)) << 8 | failures;
}

bool ses_breaker_may_ask(void) {
  uint64_t seen = atomic_load_explicit(&state, memory_order_relaxed);
  return seen == 0 || ses_clock_ms() >= seen >> 8;
}

bool ses_breaker_take(void) {
  uint64_t seen = atomic_load_explicit(&state, memory_order_relaxed);
  if (seen == 0)
    return true;
  if (ses_clock_ms() < seen >> 8)
    return false;
  return atomic_compare_exchange_strong_explicit(&state, &seen, paused(seen & 0xff),
                                                 memory_order_relaxed, memory_order_relaxed);
}

void ses_breaker_failed(void) {
  uint64_t failures = atomic_load_explicit(&state, memory_order_relaxed) & 0xff;
  if (failures < 0xff)
    failures++;
  atomic_store_explicit(&state, paused(failures), memory_order_relaxed);
}

void ses_breaker_answered(void) {
  if (atomic_load_explicit(&state, memory_order_relaxed) != 0)
    atomic_store_explicit(&state, 0, memory_order_relaxed);
}
