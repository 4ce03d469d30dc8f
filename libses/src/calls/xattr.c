/*
 * setxattr() and its kin: passed on.  What is remembered about directories is
 * forgotten when a program gives one a default ACL, so that the next file it
 * creates there has its rights by that.
 *
 * Does NOT see other programs do so: see directory.h.
 */
#include <errno.h>
#include <string.h>
#include <sys/xattr.h>

#include "calls/calls.h"
#include "directory/default_acl.h"
#include "runtime/sys.h"

#define DEFAULT_ACL "system.posix_acl_default"

typedef int (*setxattr_function)(const char *path, const char *name, const void *value, size_t size,
                                 int flags);
typedef int (*fsetxattr_function)(int fd, const char *name, const void *value, size_t size,
                                  int flags);

/* RESULT of the real call; where it is 0 the kernel has read NAME. */
static int heed(int result, const char *name) {
  if (result == 0 && strcmp(name, DEFAULT_ACL) == 0)
    ses_directory_forget();
  return result;
}

static int raw(long number, long file, const char *name, const void *value, size_t size,
               int flags) {
  long result = ses_sys5(number, file, ses_address(name), ses_address(value), (long)size, flags);
  if (result == 0)
    return 0;
  errno = (int)-result;
  return -1;
}

SES_EXPORT int setxattr(const char *path, const char *name, const void *value, size_t size,
                        int flags) {
  setxattr_function real = (setxattr_function)ses_real(SES_CALL_SETXATTR);
  return heed(real ? real(path, name, value, size, flags)
                   : raw(SYS_setxattr, ses_address(path), name, value, size, flags),
              name);
}

SES_EXPORT int lsetxattr(const char *path, const char *name, const void *value, size_t size,
                         int flags) {
  setxattr_function real = (setxattr_function)ses_real(SES_CALL_LSETXATTR);
  return heed(real ? real(path, name, value, size, flags)
                   : raw(SYS_lsetxattr, ses_address(path), name, value, size, flags),
              name);
}

SES_EXPORT int fsetxattr(int fd, const char *name, const void *value, size_t size, int flags) {
  fsetxattr_function real = (fsetxattr_function)ses_real(SES_CALL_FSETXATTR);
  return heed(real ? real(fd, name, value, size, flags)
                   : raw(SYS_fsetxattr, fd, name, value, size, flags),
              name);
}
