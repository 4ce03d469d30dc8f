/*
 * A few areas of memory for a whole process, for what is too large for the stack
 * that a thread or a signal handler may have; thread-local memory of such sizes
 * would keep programs from loading libses later on.  Each is taken by one atomic
 * step and held briefly; a caller that finds none does without.
 */
#ifndef SES_AREA_H
#define SES_AREA_H

#include <stdatomic.h>
#include <stdbool.h>

#include "runtime/self.h"

/* Take the area of this OWNER, which is 0 or the process that holds it.  One held by another
 * process was copied by fork() from a thread that is not here; a child of vfork(), which shares
 * memory with its parent, must not come this far. */
static inline bool ses_area_take(_Atomic long *owner) {
  long self = ses_self_pid();
  long holder = atomic_load_explicit(owner, memory_order_relaxed);
  return holder != self && atomic_compare_exchange_strong_explicit(
                               owner, &holder, self, memory_order_acquire, memory_order_relaxed);
}

static inline void ses_area_give_back(_Atomic long *owner) {
  atomic_store_explicit(owner, 0, memory_order_release);
}

#endif /* SES_AREA_H */
