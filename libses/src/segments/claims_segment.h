/*
 * The memory that the agent shares with this user's programs (ses/claims.h):
 * attaching what the table names, and deciding whether it may be trusted.
 *
 * Attached by the first create that could be served by it, and never detached:
 * a thread may be reading.  A process that had several users ends up with at most a
 * few of them, and one that outlives agents with what those left, too.  A child of
 * fork() inherits them.
 */
#ifndef SES_CLAIMS_SEGMENT_H
#define SES_CLAIMS_SEGMENT_H

#include <stdbool.h>

#include "ses/claims.h"

/* The claims of one user, as the table names them. */
struct ses_claims_of {
  struct ses_claims *claims;
  uint64_t instance; /* of which placements' ids are made: not read from the segment */
  uint32_t user;
};

/* The segment of the caller's effective user that TABLE names.  False: there is none.  Attaches at
 * most one a second. */
bool ses_claims_segment(const struct ses_table *table, struct ses_claims_of *of);

#endif /* SES_CLAIMS_SEGMENT_H */
