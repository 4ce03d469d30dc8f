// The status of an open file, as the file system reports it now.
#ifndef SES_COPY_STATUS_H
#define SES_COPY_STATUS_H

#include <fcntl.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>

namespace ses::copy {

// As fstat(2), but what FUSE or a network file system keeps from earlier is asked for again.
inline bool read_status(int fd, struct stat &status) {
  struct statx now {};
  if (statx(fd, "", AT_EMPTY_PATH | AT_STATX_FORCE_SYNC, STATX_BASIC_STATS, &now) != 0) {
    return fstat(fd, &status) == 0;
  }
  const auto timespec_of = [](const statx_timestamp &time) {
    return timespec{time.tv_sec, static_cast<long>(time.tv_nsec)};
  };
  status = {};
  status.st_dev = makedev(now.stx_dev_major, now.stx_dev_minor);
  status.st_rdev = makedev(now.stx_rdev_major, now.stx_rdev_minor);
  status.st_ino = now.stx_ino;
  status.st_nlink = now.stx_nlink;
  status.st_mode = now.stx_mode;
  status.st_uid = now.stx_uid;
  status.st_gid = now.stx_gid;
  status.st_size = static_cast<off_t>(now.stx_size);
  status.st_blksize = static_cast<blksize_t>(now.stx_blksize);
  status.st_blocks = static_cast<blkcnt_t>(now.stx_blocks);
  status.st_atim = timespec_of(now.stx_atime);
  status.st_mtim = timespec_of(now.stx_mtime);
  status.st_ctim = timespec_of(now.stx_ctime);
  return true;
}

} // namespace ses::copy

#endif // SES_COPY_STATUS_H
