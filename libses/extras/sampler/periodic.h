/* A program that does something periodically until a signal ends it, if asked on a core of its own
 * that it polls on instead of sleeping. */
#ifndef SMED_PERIODIC_H
#define SMED_PERIODIC_H

#include "fabric.h"

#include <signal.h>
#include <stdbool.h>
#include <stdint.h>

/* When the period after the one that was due at DUE_NS ends; periods that were missed are left out.
 */
uint64_t smed_next_due(uint64_t due_ns, uint64_t period_ns);

/* Set by SIGTERM and SIGINT, once these are asked for. */
extern volatile sig_atomic_t smed_ending;
void smed_end_by_signal(void);

/* Wait: POLLING, or asleep.  While polling, reads by FABRIC are served, where it is not NULL. */
void smed_wait_until(uint64_t then_ns, bool polling, struct smed_fabric *fabric);

#endif
