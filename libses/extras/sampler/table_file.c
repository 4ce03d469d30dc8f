#include "table_file.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

/* Make FILE this long, with memory for all of it: what is written through a map and finds none ends
 * in SIGBUS. */
static bool reserve(int file, off_t bytes) {
  errno = posix_fallocate(file, 0, bytes);
  return errno == 0;
}

/* This user's own file at PATH, as long as it is to be or empty: who else owns it could cut it
 * short under this process.  -1: there is none. */
static int left(const char *path, off_t bytes) {
  struct stat about;
  int file = open(path, O_RDWR | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK);

  if (file < 0 || (fstat(file, &about) == 0 && S_ISREG(about.st_mode) &&
                   about.st_uid == geteuid() && (about.st_size == bytes || about.st_size == 0)))
    return file;
  close(file);
  return -1;
}

/* A file at PATH of exactly BYTES; -1 and errno. */
static int sized(const char *path, off_t bytes) {
  char beside[PATH_MAX];
  int file = left(path, bytes);
  bool is_left = file >= 0;

  if (snprintf(beside, sizeof(beside), "%s.%d", path, (int)getpid()) >= (int)sizeof(beside)) {
    errno = ENAMETOOLONG;
    return -1;
  }
  if (!is_left)
    file = open(beside, O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC | O_NOFOLLOW, 0644);
  if (file < 0 || (reserve(file, bytes) && (is_left || rename(beside, path) == 0)))
    return file;
  int reason = errno;
  if (!is_left)
    unlink(beside);
  close(file);
  errno = reason;
  return -1;
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
