/*
 * The memory that the agent shares with this user's programs: finding it and
 * deciding whether it may be trusted.  See ses/plan.h.
 *
 * Attached by the first create that could be served by it, and never detached:
 * somebody may be reading.  Whoever had several users or saw several agents
 * ends up with at most SEGMENTS of them.  A child of fork() inherits them.
 */
#ifndef SES_PLAN_SEGMENT_H
#define SES_PLAN_SEGMENT_H

#include <stdbool.h>

#include "ses/plan.h"

/* The plan of the caller's effective user, from an agent that gave a sign of life within the last
 * SES_PLAN_STALE_MS; or NULL.  Looks for a segment at most once a second. */
struct ses_plan *ses_plan_segment(void);

/* False: there is no plan, and it is not time to look for one. */
bool ses_plan_may_be(void);

#endif /* SES_PLAN_SEGMENT_H */
