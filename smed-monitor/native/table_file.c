#define _GNU_SOURCE
#include "table_file.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

/* A file at PATH of exactly BYTES; -1 and errno. */
static int sized(const char *path, off_t bytes) {
  char beside[PATH_MAX];
  struct stat about;
  int file = open(path, O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0644);

  if (file < 0 || fstat(file, &about) != 0)
    return file;
  if (about.st_size == bytes || (about.st_size == 0 && ftruncate(file, bytes) == 0))
    return file;
  close(file);
  if (snprintf(beside, sizeof(beside), "%s.%d", path, (int)getpid()) >= (int)sizeof(beside)) {
    errno = ENAMETOOLONG;
    return -1;
  }
  file = open(beside, O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC | O_NOFOLLOW, 0644);
  if (file >= 0 && (ftruncate(file, bytes) != 0 || rename(beside, path) != 0)) {
    int reason = errno;

    unlink(beside);
    close(file);
    errno = reason;
    return -1;
  }
  return file;
}

struct smed_table *smed_table_make(const char *path, uint32_t count, uint64_t period_ns,
                                   enum smed_via via) {
  struct ses_segment_head kind = smed_table_kind(count);
  int file = sized(path, (off_t)smed_table_bytes(count));
  struct smed_table *table;

  if (file < 0)
    return NULL;
  table = mmap(NULL, smed_table_bytes(count), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_POPULATE,
               file, 0); /* no faults later */
  close(file);
  if (table == MAP_FAILED)
    return NULL;
  table->count = count;
  table->record_bytes = sizeof(struct smed_record);
  table->period_ns = period_ns;
  table->via = via;
  ses_segment_name(table, &kind);
  return table;
}
