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

#include <stdbool.h>
#include <sys/types.h>

#include "ses/protocol.h"

/* What the caller needs; all zero (with expected_bytes -1) means "as the portal says".  Without
 * requirements those of SES_REQUIRE hold. */
struct ses_need {
  const char *application; /* NULL: SES_APPLICATION, else the program's short name */
  const char *pool;        /* NULL: any */
  int holder;              /* the process the file is made for; 0: this one */
  const char *program;     /* its short name, for rules; NULL: this one's */
  const char *whole;       /* the path as it says it, from its root and without "..", for rules */
  long long expected_bytes;
  unsigned long long stripe_size;
  unsigned stripe_count;
  unsigned requirement_count;
  struct ses_wire_requirement requirements[SES_REQUIREMENTS_MAX];
};

/* Why a file was, or was not, placed. */
enum ses_place_status {
  SES_PLACE_PLACED = 0,
  SES_PLACE_EXISTS,      /* the name exists: nothing was touched */
  SES_PLACE_NOT_MANAGED, /* not on a storage system we know */
  SES_PLACE_NO_AGENT,    /* no agent, or the breaker is open */
  SES_PLACE_NO_ANSWER,   /* the agent did not answer in time, or with rubbish */
  SES_PLACE_NO_DECISION, /* the agent could not decide */
  SES_PLACE_UNSUITED,    /* flags, mode or directory that only the plain call serves exactly */
  SES_PLACE_EXCLUDED,    /* by the site's rules or this run's */
  SES_PLACE_FAILED,      /* a step failed (error): undone, or, with a descriptor returned, the file
                            lies where the file system chose */
};

struct ses_where {
  enum ses_place_status status;
  bool asked; /* the agent, since nothing could be chosen here */
  int error;
  unsigned backend; /* enum ses_backend */
  unsigned long long placement_id;
  double distance;
  char element[SES_ELEMENT_MAX];
};

/* Among the flags: the file is made for mknod(), which is no opening of it. */
#define SES_PLACE_NODE 0x40000000

/* The plain call must be made; nothing was changed and errno is as before. */
#define SES_PLAIN (-2)
#define SES_TAKEN (-3) /* the same, since the name exists */

/*
 * Create PATH (relative to DIRFD, as in openat) on the element that is chosen
 * from the node's candidate table, or by the agent, and open it with FLAGS (which contain O_CREAT)
 * and MODE.
 *
 * Returns a descriptor with exactly the properties openat() would have given
 * it (WHERE tells whether the file is where it was to go), or SES_PLAIN or SES_TAKEN.  Never
 * returns an error of its own: whatever goes wrong is undone and answered with SES_PLAIN, so the
 * plain call reports it. NEED may be NULL.  WHERE may be NULL; otherwise it is always filled in.
 * Waits at most SES_SYNC_MS (20 ms by default, 0: never ask) for the agent.
 */
int ses_place_open(int dirfd, const char *path, int flags, mode_t mode, const struct ses_need *need,
                   struct ses_where *where);

#endif /* SES_PLACE_H */
