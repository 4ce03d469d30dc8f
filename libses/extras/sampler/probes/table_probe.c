/*
 * Writes a table as fast as it can until it is killed, for the tests: in each sample, word I is the
 * first one times a number of its own.
 *
 *   table-probe FILE RECORDS
 */
#include "table_file.h"

#include <stdlib.h>

int main(int argc, char **argv) {
  uint32_t count = argc == 3 ? (uint32_t)atoi(argv[2]) : 0;
  struct smed_table *table = count ? smed_table_make(argv[1], count, 0, SMED_VIA_HERE) : NULL;

  if (table == NULL)
    return 1;
  for (uint64_t n = 1;; n++)
    for (uint32_t i = 0; i < count; i++)
      smed_table_write(&table->records[i],
                       &(struct smed_sample){n, n * 3, n * 5, n * 7, n * 11, n * 13, n * 17, n * 19,
                                             n * 23, n * 29, 0});
}
