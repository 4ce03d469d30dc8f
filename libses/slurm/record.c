#include "record.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <sys/stat.h>
#include <unistd.h>

int ses_record_write(const char *directory, uint32_t job, uid_t uid) {
  char written[PATH_MAX], path[PATH_MAX], text[64];
  snprintf(written, sizeof written, "%s/.%u", directory, job); /* the agent passes over a dot */
  snprintf(path, sizeof path, "%s/%u", directory, job);
  int length = snprintf(text, sizeof text, "user=%u\njob=%u\n", uid, job), error = 0;
  if (mkdir(directory, 0755) != 0 && errno != EEXIST)
    return errno;
  int fd = open(written, O_WRONLY | O_CREAT | O_TRUNC | O_NOFOLLOW | O_CLOEXEC, 0644);
  if (fd < 0)
    return errno;
  errno = ENOSPC; /* of a write that is too short */
  if (write(fd, text, (size_t)length) != length || fchmod(fd, 0644) != 0 ||
      rename(written, path) != 0)
    error = errno;
  close(fd);
  if (error != 0)
    unlink(written);
  return error;
}

void ses_record_remove(const char *directory, uint32_t job) {
  char path[PATH_MAX];
  snprintf(path, sizeof path, "%s/%u", directory, job);
  unlink(path);
}
