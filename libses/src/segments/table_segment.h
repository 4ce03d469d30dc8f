/*
 * The candidate table of the node's agent (ses/table.h).
 */
#ifndef SES_TABLE_SEGMENT_H
#define SES_TABLE_SEGMENT_H

#include <stdbool.h>

#include "ses/table.h"

/* The table of an agent that gave a sign of life within the last SES_TABLE_STALE_MS; or NULL. */
const struct ses_table *ses_table_segment(void);

/* False: there is no table, and it is not time to look for one. */
bool ses_table_may_be(void);

#endif /* SES_TABLE_SEGMENT_H */
