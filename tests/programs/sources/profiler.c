/* What the libraries of profilers do that sites preload, as Darshan's: wraps the calls that open by
   the next in line, and says in the file PROFILER_LOG what was created. */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <fcntl.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/syscall.h>
#include <unistd.h>

static int seen(int fd, const char *path, int flags) {
  const char *log = getenv("PROFILER_LOG");
  if (fd >= 0 && log != NULL && (flags & O_CREAT) != 0) {
    const int to = (int)syscall(SYS_openat, AT_FDCWD, log, O_WRONLY | O_CREAT | O_APPEND, 0600);
    (void)dprintf(to, "%s\n", path);
    (void)syscall(SYS_close, to);
  }
  return fd;
}

#define MODE(last)                                                                                 \
  va_list more;                                                                                    \
  va_start(more, last);                                                                            \
  const mode_t mode = (flags & (O_CREAT | __O_TMPFILE)) != 0 ? va_arg(more, mode_t) : 0;           \
  va_end(more)

#define OPEN(name)                                                                                 \
  int name(const char *path, int flags, ...) {                                                     \
    MODE(flags);                                                                                   \
    return seen(((int (*)(const char *, int, mode_t))dlsym(RTLD_NEXT, #name))(path, flags, mode),  \
                path, flags);                                                                      \
  }

#define OPENAT(name)                                                                               \
  int name(int at, const char *path, int flags, ...) {                                             \
    MODE(flags);                                                                                   \
    return seen(                                                                                   \
        ((int (*)(int, const char *, int, mode_t))dlsym(RTLD_NEXT, #name))(at, path, flags, mode), \
        path, flags);                                                                              \
  }

OPEN(open)
OPEN(open64)
OPENAT(openat)
OPENAT(openat64)
