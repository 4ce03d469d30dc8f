/*
 * libses-wrapper.so: every call that can create a regular file, under the
 * name programs call it by (the C library never calls its own through these
 * names).  What creates nothing goes on at once; what creates goes through
 * ses_place_open(), and on any doubt on to the real call.
 *
 * Does NOT see: static programs, Go programs, direct system calls, functions
 * taken from dlopen("libc.so.6"), the children of programs that clear
 * LD_PRELOAD.  A create that is placed can be cancelled before it begins, not in
 * the middle.
 *
 * May be called before any constructor and after any destructor, in any
 * thread, child or signal handler.
 */
#include <errno.h>
#include <fcntl.h>
#include <stdarg.h>
#include <stddef.h>
#include <sys/stat.h>

#include "calls/calls.h"
#include "place/place.h"
#include "runtime/names.h"
#include "runtime/sys.h"

typedef int (*open_function)(const char *path, int flags, ...);
typedef int (*openat_function)(int dirfd, const char *path, int flags, ...);
typedef int (*creat_function)(const char *path, mode_t mode);

/* O_TMPFILE contains O_DIRECTORY: all of its bits must be there. */
static int takes_mode(int flags) { return (flags & O_CREAT) || (flags & O_TMPFILE) == O_TMPFILE; }

int ses_place_or_cancel(int dirfd, const char *path, int flags, mode_t mode) {
  ses_test_cancel();
  return ses_place_open(dirfd, path, flags, mode, NULL, NULL);
}

/* An exclusive create has failed for the program already. */
static int exists(void) {
  errno = EEXIST;
  return -1;
}

static int open_through(enum ses_call call, const char *path, int flags, mode_t mode) {
  if (flags & O_CREAT) {
    int fd = ses_place_or_cancel(AT_FDCWD, path, flags, mode);
    if (fd >= 0 || fd == SES_EXISTS)
      return fd >= 0 ? fd : exists();
  }
  open_function real = (open_function)ses_real(call);
  return real ? real(path, flags, mode) : ses_raw_openat(AT_FDCWD, path, flags, mode);
}

static int openat_through(enum ses_call call, int dirfd, const char *path, int flags, mode_t mode) {
  if (flags & O_CREAT) {
    int fd = ses_place_or_cancel(dirfd, path, flags, mode);
    if (fd >= 0 || fd == SES_EXISTS)
      return fd >= 0 ? fd : exists();
  }
  openat_function real = (openat_function)ses_real(call);
  return real ? real(dirfd, path, flags, mode) : ses_raw_openat(dirfd, path, flags, mode);
}

static int creat_through(enum ses_call call, const char *path, mode_t mode) {
  int flags = O_CREAT | O_WRONLY | O_TRUNC;
  int fd = ses_place_or_cancel(AT_FDCWD, path, flags, mode);
  if (fd >= 0)
    return fd;
  creat_function real = (creat_function)ses_real(call);
  return real ? real(path, mode) : ses_raw_openat(AT_FDCWD, path, flags, mode);
}

/* The mode argument, which exists only when the flags say so. */
#define MODE_AFTER(flags)                                                                          \
  __extension__({                                                                                  \
    mode_t mode_ = 0;                                                                              \
    if (takes_mode(flags)) {                                                                       \
      va_list rest_;                                                                               \
      va_start(rest_, flags);                                                                      \
      mode_ = va_arg(rest_, mode_t);                                                               \
      va_end(rest_);                                                                               \
    }                                                                                              \
    mode_;                                                                                         \
  })

SES_EXPORT int open(const char *path, int flags, ...) {
  return open_through(SES_CALL_OPEN, path, flags, MODE_AFTER(flags));
}

SES_EXPORT int open64(const char *path, int flags, ...) {
  return open_through(SES_CALL_OPEN64, path, flags, MODE_AFTER(flags));
}

SES_EXPORT int __open(const char *path, int flags, ...);
SES_EXPORT int __open(const char *path, int flags, ...) {
  return open_through(SES_CALL_UU_OPEN, path, flags, MODE_AFTER(flags));
}

SES_EXPORT int __open64(const char *path, int flags, ...);
SES_EXPORT int __open64(const char *path, int flags, ...) {
  return open_through(SES_CALL_UU_OPEN64, path, flags, MODE_AFTER(flags));
}

SES_EXPORT int openat(int dirfd, const char *path, int flags, ...) {
  return openat_through(SES_CALL_OPENAT, dirfd, path, flags, MODE_AFTER(flags));
}

SES_EXPORT int openat64(int dirfd, const char *path, int flags, ...) {
  return openat_through(SES_CALL_OPENAT64, dirfd, path, flags, MODE_AFTER(flags));
}

SES_EXPORT int creat(const char *path, mode_t mode) {
  return creat_through(SES_CALL_CREAT, path, mode);
}

SES_EXPORT int creat64(const char *path, mode_t mode) {
  return creat_through(SES_CALL_CREAT64, path, mode);
}
