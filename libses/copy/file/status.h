// What the file system says of an open file now.
#ifndef SES_COPY_STATUS_H
#define SES_COPY_STATUS_H

#include <fcntl.h>
#include <sys/stat.h>

namespace ses::copy {

// As fstat(2), but what FUSE or a network file system keeps from earlier is asked for again.
inline bool read_status(int fd, struct stat &status) {
  struct statx refreshed {};
  statx(fd, "", AT_EMPTY_PATH | AT_STATX_FORCE_SYNC, STATX_BASIC_STATS, &refreshed);
  return fstat(fd, &status) == 0;
}

} // namespace ses::copy

#endif // SES_COPY_STATUS_H
