/*
 * mknod() of a regular file: created where the choice says, opened for writing
 * and closed again.  Everything else that mknod() makes is passed on, and on
 * Lustre all of it: a node has no place there before it is opened for writing.
 */
#include <errno.h>
#include <fcntl.h>
#include <stddef.h>
#include <sys/stat.h>

#include "calls/calls.h"
#include "place/place.h"
#include "runtime/sys.h"

typedef int (*mknod_function)(const char *path, mode_t mode, dev_t device);
typedef int (*mknodat_function)(int dirfd, const char *path, mode_t mode, dev_t device);
typedef int (*xmknod_function)(int version, const char *path, mode_t mode, dev_t *device);
typedef int (*xmknodat_function)(int version, int dirfd, const char *path, mode_t mode,
                                 dev_t *device);

/* The only layout of dev_t there is on 64-bit machines. */
#define VERSION_OF_DEVICE 0

static int raw_mknodat(int dirfd, const char *path, mode_t mode, dev_t device) {
  long result = ses_sys4(SYS_mknodat, dirfd, ses_address(path), (long)mode, (long)device);
  if (result == 0)
    return 0;
  errno = (int)-result;
  return -1;
}

/* True when the file has been made. */
static int make_placed(int dirfd, const char *path, mode_t mode) {
  if ((mode & S_IFMT) != S_IFREG && (mode & S_IFMT) != 0)
    return 0;
  int fd = ses_place_open(dirfd, path, O_CREAT | O_EXCL | O_WRONLY | O_CLOEXEC | SES_PLACE_NODE,
                          mode & ~(mode_t)S_IFMT, NULL, NULL);
  if (fd >= 0)
    ses_sys_close(fd);
  return fd >= 0;
}

SES_EXPORT int mknod(const char *path, mode_t mode, dev_t device) {
  if (make_placed(AT_FDCWD, path, mode))
    return 0;
  mknod_function real = (mknod_function)ses_real(SES_CALL_MKNOD);
  return real ? real(path, mode, device) : raw_mknodat(AT_FDCWD, path, mode, device);
}

SES_EXPORT int mknodat(int dirfd, const char *path, mode_t mode, dev_t device) {
  if (make_placed(dirfd, path, mode))
    return 0;
  mknodat_function real = (mknodat_function)ses_real(SES_CALL_MKNODAT);
  return real ? real(dirfd, path, mode, device) : raw_mknodat(dirfd, path, mode, device);
}

SES_EXPORT int __xmknod(int version, const char *path, mode_t mode, dev_t *device);
SES_EXPORT int __xmknod(int version, const char *path, mode_t mode, dev_t *device) {
  if (version == VERSION_OF_DEVICE && make_placed(AT_FDCWD, path, mode))
    return 0;
  xmknod_function real = (xmknod_function)ses_real(SES_CALL_UU_XMKNOD);
  return real ? real(version, path, mode, device) : raw_mknodat(AT_FDCWD, path, mode, *device);
}

SES_EXPORT int __xmknodat(int version, int dirfd, const char *path, mode_t mode, dev_t *device);
SES_EXPORT int __xmknodat(int version, int dirfd, const char *path, mode_t mode, dev_t *device) {
  if (version == VERSION_OF_DEVICE && make_placed(dirfd, path, mode))
    return 0;
  xmknodat_function real = (xmknodat_function)ses_real(SES_CALL_UU_XMKNODAT);
  return real ? real(version, dirfd, path, mode, device) : raw_mknodat(dirfd, path, mode, *device);
}
