/* The file of a table (table.h). */
#ifndef SMED_TABLE_FILE_H
#define SMED_TABLE_FILE_H

#include "table.h"

/* The table in the file PATH with room for COUNT records.  A file of another size or user is
 * replaced, not cut: who has the old one open keeps it, and sees it grow old.  NULL and errno. */
struct smed_table *smed_table_make(const char *path, uint32_t count, uint64_t period_ns,
                                   enum smed_via via);

#endif
