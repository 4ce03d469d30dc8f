/*
 * What the node's agent publishes for every program: the candidate table (ses/table.h) and the
 * site's rules (ses/rules.h).  Here it is found by its key, and decided whether it may be trusted.
 *
 * Each is attached once, for reading, and never detached: somebody may be reading.  A child of
 * fork() inherits it.  Looked for at most once a second.  No lock, no heap; async-signal-safe.
 */
#ifndef SES_PUBLISHED_H
#define SES_PUBLISHED_H

#include <stdbool.h>

#include "ses/rules.h"
#include "ses/table.h"

/* The table of an agent that gave a sign of life within the last SES_TABLE_STALE_MS; or NULL. */
const struct ses_table *ses_table_segment(void);

/* False: there is no table, and it is not time to look for one. */
bool ses_table_may_be(void);

/* The place of device MAJOR:MINOR in TABLE: its MOUNT, and the SYSTEM that lies there.  False: the
 * table does not have it. */
bool ses_table_find(const struct ses_table *table, unsigned major, unsigned minor, unsigned *mount,
                    unsigned *system);

/* The rules in force, or NULL. */
const struct ses_rules *ses_rules_segment(void);

#endif /* SES_PUBLISHED_H */
