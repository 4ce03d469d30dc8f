/*
 * Two sides of a table for the tests: a writer that writes as fast as it can until it is killed,
 * and a reader that checks every record it gets.
 *
 *   table-probe write FILE RECORDS          until killed
 *   table-probe read FILE SECONDS           prints: reads torn given-up
 */
#define _GNU_SOURCE
#include "table.h"

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

static struct smed_table *map(const char *path, bool writing, uint32_t count) {
  int file = open(path, writing ? O_RDWR | O_CREAT : O_RDONLY, 0600);
  struct stat about;

  if (file < 0 || (writing && ftruncate(file, (off_t)smed_table_bytes(count)) != 0) ||
      fstat(file, &about) != 0)
    return NULL;
  void *at = mmap(NULL, (size_t)about.st_size, writing ? PROT_READ | PROT_WRITE : PROT_READ,
                  MAP_SHARED, file, 0);
  close(file);
  return at == MAP_FAILED ? NULL : at;
}

static void write_until_killed(struct smed_table *table, uint32_t count) {
  table->count = count;
  for (uint64_t n = 1;; n++)
    for (uint32_t i = 0; i < count; i++)
      smed_table_write(&table->records[i],
                       &(struct smed_sample){n, n * 3, n * 5, n * 7, n * 11, n * 13, n * 17, n * 19,
                                             n * 23, n * 29, 0});
}

static int read_and_check(const struct smed_table *table, double seconds) {
  unsigned long reads = 0, torn = 0, given_up = 0;
  struct timespec start, now;

  clock_gettime(CLOCK_MONOTONIC, &start);
  do {
    for (uint32_t i = 0; i < table->count; i++) {
      struct smed_sample sample;

      if (!smed_table_read(&table->records[i], &sample)) {
        given_up++;
        continue;
      }
      reads++;
      torn += sample.check != smed_sample_check((const uint64_t *)&sample) ||
              sample.in_flight != sample.monotonic_ns * 17;
    }
    clock_gettime(CLOCK_MONOTONIC, &now);
  } while ((double)(now.tv_sec - start.tv_sec) + (double)(now.tv_nsec - start.tv_nsec) / 1e9 <
           seconds);
  printf("%lu %lu %lu\n", reads, torn, given_up);
  return 0;
}

int main(int argc, char **argv) {
  if (argc != 4)
    return 2;
  bool writing = strcmp(argv[1], "write") == 0;
  uint32_t count = writing ? (uint32_t)atoi(argv[3]) : 0;
  struct smed_table *table = map(argv[2], writing, count);
  if (table == NULL)
    return 1;
  if (!writing)
    return read_and_check(table, atof(argv[3]));
  write_until_killed(table, count);
  return 1;
}
