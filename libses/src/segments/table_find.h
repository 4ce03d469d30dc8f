/*
 * Where a device is in a candidate table (ses/table.h).
 */
#ifndef SES_TABLE_FIND_H
#define SES_TABLE_FIND_H

#include <stdbool.h>

#include "ses/table.h"

/* The place of device MAJOR:MINOR in TABLE: its MOUNT, and the SYSTEM that lies there.  False: the
 * table does not have it. */
bool ses_table_find(const struct ses_table *table, unsigned major, unsigned minor, unsigned *mount,
                    unsigned *system);

#endif /* SES_TABLE_FIND_H */
