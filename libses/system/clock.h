/* CLOCK_MONOTONIC, in nanoseconds. */
#ifndef SES_SYSTEM_CLOCK_H
#define SES_SYSTEM_CLOCK_H

#include <stdint.h>
#include <time.h>

static inline uint64_t ses_now_ns(void) {
  struct timespec now;
  clock_gettime(CLOCK_MONOTONIC, &now);
  return (uint64_t)now.tv_sec * 1000000000u + (uint64_t)now.tv_nsec;
}

static inline uint64_t ses_in_ms(uint64_t milliseconds) {
  return ses_now_ns() + milliseconds * 1000000u;
}

/* Sleep until then, or until a signal comes. */
static inline void ses_sleep_until(uint64_t then_ns) {
  struct timespec until = {(time_t)(then_ns / 1000000000u), (long)(then_ns % 1000000000u)};
  clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &until, NULL);
}

#endif /* SES_SYSTEM_CLOCK_H */
