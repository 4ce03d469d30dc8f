#define _GNU_SOURCE
#include "settle.h"

#include "channel.h"

#include <errno.h>
#include <sched.h>
#include <stdio.h>
#include <string.h>

bool smed_stay(const char *program, int core) {
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

void smed_wait_until(uint64_t then_ns, bool polling, struct smed_fabric *fabric) {
  if (!polling) {
    smed_sleep_until(then_ns);
    return;
  }
  while (smed_now_ns() < then_ns)
    if (fabric != NULL)
      smed_fabric_progress(fabric);
}
