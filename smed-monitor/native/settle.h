/* A core for itself: staying on it, and waiting there without giving it up. */
#ifndef SMED_SETTLE_H
#define SMED_SETTLE_H

#include "fabric.h"

#include <stdbool.h>
#include <stdint.h>

/* Keep this process, and the threads it starts from now on, on CORE; -1: anywhere.  False, with why
 * on standard error. */
bool smed_stay(const char *program, int core);

/* Wait: POLLING, or asleep.  While polling, reads by FABRIC are served, where it is not NULL. */
void smed_wait_until(uint64_t then_ns, bool polling, struct smed_fabric *fabric);

#endif
