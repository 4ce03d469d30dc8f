/* Milliseconds that only go forward, a few nanoseconds to read, exact to one tick (at most 10 ms).
 */
#ifndef SES_CLOCK_H
#define SES_CLOCK_H

#include <stdint.h>
#include <time.h>

static inline uint64_t ses_clock_ms(void) {
  struct timespec now;
  clock_gettime(CLOCK_MONOTONIC_COARSE, &now);
  return (uint64_t)now.tv_sec * 1000 + (uint64_t)now.tv_nsec / 1000000;
}

#endif /* SES_CLOCK_H */
