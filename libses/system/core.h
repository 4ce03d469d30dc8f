/*
 * A core for a program that must answer at once, and the right to go first on it.
 */
#ifndef SES_SYSTEM_CORE_H
#define SES_SYSTEM_CORE_H

#include <errno.h>
#include <sched.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>

#define SES_CORE_MAX 1023 /* what a cpu_set_t holds */

/* Keep this process, and those it makes, on CORE (-1: on any).  False: PROGRAM has said why not. */
static inline bool ses_stay_on_core(const char *program, int core) {
  cpu_set_t cores;
  if (core < 0)
    return true;
  CPU_ZERO(&cores);
  CPU_SET((size_t)core, &cores);
  if (sched_setaffinity(0, sizeof(cores), &cores) == 0)
    return true;
  fprintf(stderr, "%s: --core: %s\n", program, strerror(errno));
  return false;
}

/* Run before all that have no such PRIORITY (1 to 99; 0: as started), and so what this process
 * makes.  False: PROGRAM has said why not. */
static inline bool ses_go_first(const char *program, int priority) {
  if (priority <= 0 ||
      sched_setscheduler(0, SCHED_FIFO, &(struct sched_param){.sched_priority = priority}) == 0)
    return true;
  fprintf(stderr, "%s: --fifo: %s\n", program, strerror(errno));
  return false;
}

#endif /* SES_SYSTEM_CORE_H */
