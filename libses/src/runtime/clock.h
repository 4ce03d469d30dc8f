/* Milliseconds that only go forward, a few nanoseconds to read, exact to one tick (at most 10 ms).
 */
#ifndef SES_CLOCK_H
#define SES_CLOCK_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>
#include <time.h>

static inline uint64_t ses_clock_ms(void) {
  struct timespec now;
  clock_gettime(CLOCK_MONOTONIC_COARSE, &now);
  return (uint64_t)now.tv_sec * 1000 + (uint64_t)now.tv_nsec / 1000000;
}

/* For what is tried at most once in PAUSE_MS: is it time, and nobody else's turn? */
static inline bool ses_clock_is_turn(_Atomic uint64_t *next_ms, uint64_t pause_ms) {
  uint64_t next = atomic_load_explicit(next_ms, memory_order_relaxed);
  uint64_t now = ses_clock_ms();
  return now >= next &&
         atomic_compare_exchange_strong_explicit(next_ms, &next, now + pause_ms,
                                                 memory_order_relaxed, memory_order_relaxed);
}

#endif /* SES_CLOCK_H */
