/*
 * Streams.  fopen() is a placed descriptor given to the real fdopen();
 * freopen() creates the file first and lets the real call open it.  Modes
 * with properties only fopen() itself can give a stream (",ccs=", mmap,
 * not-cancellable) are left to it.
 */
#include <errno.h>
#include <fcntl.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>

#include "calls/calls.h"
#include "place/place.h"
#include "runtime/sys.h"

typedef FILE *(*fopen_function)(const char *path, const char *mode);
typedef FILE *(*freopen_function)(const char *path, const char *mode, FILE *stream);

#define STREAM_MODE 0666
#define READ_LETTERS 7 /* of a mode, by glibc; musl reads all */

/* What MODE asks of open(), read exactly as the C library does: the first letter, then others,
 * unknown ones ignored.  -1: a mode to be left to the real call (it may be invalid). */
static int flags_of(const char *mode) {
  int access = O_WRONLY;
  int flags;
  switch (*mode) {
  case 'r':
    return O_RDONLY; /* creates nothing, whatever follows */
  case 'w':
    flags = O_CREAT | O_TRUNC;
    break;
  case 'a':
    flags = O_CREAT | O_APPEND;
    break;
  default:
    return -1;
  }
  if (strstr(mode, ",ccs="))
    return -1;
  for (int i = 1; mode[i]; i++) {
    if (mode[i] == 'm' || mode[i] == 'c' || i == READ_LETTERS)
      return -1;
    if (mode[i] == '+')
      access = O_RDWR;
    else if (mode[i] == 'x')
      flags |= O_EXCL;
    else if (mode[i] == 'e')
      flags |= O_CLOEXEC;
  }
  return access | flags;
}

/* The mode for fdopen() that gives the stream what FLAGS, and thereby fopen(), would. */
static const char *mode_of(int flags) {
  bool both = (flags & O_ACCMODE) == O_RDWR;
  if (flags & O_APPEND)
    return both ? "a+" : "a";
  if (flags & O_CREAT)
    return both ? "w+" : "w";
  return both ? "r+" : "r";
}

static FILE *stream_on(int fd, int flags) {
  FILE *stream = fd >= 0 ? fdopen(fd, mode_of(flags)) : NULL;
  if (fd >= 0 && !stream)
    ses_sys_close(fd);
  return stream;
}

/* The real call finds out that there is no memory before it creates anything: then the file, which
 * is empty and this call's own as long as the name still leads to it, goes again. */
static FILE *stream_on_placed(int fd, int flags, const char *path) {
  FILE *stream = fdopen(fd, mode_of(flags));
  if (stream)
    return stream;
  int saved = errno;
  ses_take_back(fd, path);
  ses_sys_close(fd);
  errno = saved;
  return NULL;
}

static FILE *fopen_through(enum ses_call call, const char *path, const char *mode) {
  int flags = flags_of(mode);
  if (flags >= 0 && (flags & O_CREAT)) {
    int fd = ses_place_or_cancel(AT_FDCWD, path, flags, STREAM_MODE);
    if (fd >= 0)
      return stream_on_placed(fd, flags, path);
    if (fd == SES_EXISTS) {
      errno = EEXIST;
      return NULL;
    }
  }
  fopen_function real = (fopen_function)ses_real(call);
  if (real)
    return real(path, mode);
  if (flags < 0) {
    errno = EINVAL;
    return NULL;
  }
  if (!(flags & O_CREAT) && strchr(mode, '+'))
    flags = O_RDWR;
  return stream_on(ses_raw_openat(AT_FDCWD, path, flags, STREAM_MODE), flags);
}

/*
 * The placed file stays open until the real call has it open as well, so that
 * the agent does not take it for finished.  With 'x' the real call must make
 * the file itself, and a stream without a descriptor must get the lowest.
 */
static FILE *freopen_through(enum ses_call call, const char *path, const char *mode, FILE *stream) {
  freopen_function real = (freopen_function)ses_real(call);
  if (!real) {
    errno = ENOSYS;
    return NULL;
  }
  int fd = SES_PLAIN;
  int flags = path ? flags_of(mode) : -1;
  if (flags >= 0 && (flags & O_CREAT) && !(flags & O_EXCL) && stream) {
    int saved = errno;
    if (fileno(stream) >= 0)
      fd = ses_place_open(AT_FDCWD, path, flags | O_CLOEXEC, STREAM_MODE, NULL, NULL);
    if (fd >= 0)
      fd = ses_keep_if_room(fd);
    errno = saved;
  }
  FILE *result = real(path, mode, stream);
  if (fd >= 0)
    ses_sys_close(fd);
  return result;
}

SES_EXPORT FILE *fopen(const char *path, const char *mode) {
  return fopen_through(SES_CALL_FOPEN, path, mode);
}

SES_EXPORT FILE *fopen64(const char *path, const char *mode) {
  return fopen_through(SES_CALL_FOPEN64, path, mode);
}

SES_EXPORT FILE *_IO_fopen(const char *path, const char *mode);
SES_EXPORT FILE *_IO_fopen(const char *path, const char *mode) {
  return fopen_through(SES_CALL_IO_FOPEN, path, mode);
}

SES_EXPORT FILE *freopen(const char *path, const char *mode, FILE *stream) {
  return freopen_through(SES_CALL_FREOPEN, path, mode, stream);
}

SES_EXPORT FILE *freopen64(const char *path, const char *mode, FILE *stream) {
  return freopen_through(SES_CALL_FREOPEN64, path, mode, stream);
}
