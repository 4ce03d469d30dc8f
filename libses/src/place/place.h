/*
 * Creating one file where it will be served best: the function behind the preload
 * library, the C API and the C++ API.
 *
 * Uses raw system calls only (so a preloaded wrapper never sees them), no
 * heap, no lock, no thread, no descriptor left behind.  Async-signal-safe
 * apart from the process-wide breaker, whose counters are relaxed atomics.
 */
#ifndef SES_PLACE_H
#define SES_PLACE_H

#include <sys/types.h>

#include "request/need.h"
#include "request/outcome.h"

/* The original call must be made; nothing was changed and errno is as before. */
#define SES_PLAIN (-2)
#define SES_TAKEN (-3) /* the same, since the name exists */
#define SES_EXISTS                                                                                 \
  (-4) /* the same, but an exclusive create has failed so: the plain one would, too */

/*
 * Create PATH (relative to DIRFD, as in openat) on the element that is chosen
 * from the node's candidate table, or by the agent, and open it with FLAGS (which contain O_CREAT)
 * and MODE.
 *
 * Returns a descriptor with exactly the properties openat() would have given
 * it (WHERE holds whether the file is where it was to go), SES_PLAIN, SES_TAKEN or SES_EXISTS.
 * Never returns an error of its own: whatever goes wrong is undone and answered with SES_PLAIN, so
 * the original call reports it. NEED may be NULL.  WHERE may be NULL; otherwise it is always filled
 * in. Waits at most SES_SYNC_MS (20 ms by default, 0: never ask) for the agent.
 */
int ses_place_open(int dirfd, const char *path, int flags, mode_t mode, const struct ses_need *need,
                   struct ses_where *where);

#endif /* SES_PLACE_H */
