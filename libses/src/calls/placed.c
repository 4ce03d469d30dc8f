/* What becomes of a placed file that the real call is yet to open, or never will. */
#include <fcntl.h>
#include <sys/stat.h>

#include "calls/calls.h"
#include "runtime/sys.h"

int ses_keep_if_room(int fd) {
  int more = (int)ses_sys3(SYS_fcntl, fd, F_DUPFD_CLOEXEC, 0);
  ses_sys_close(more >= 0 ? more : fd);
  return more >= 0 ? fd : -1;
}

void ses_take_back(int fd, const char *path) {
  struct stat created;
  struct stat named;
  if (ses_sys2(SYS_fstat, fd, ses_address(&created)) == 0 && created.st_size == 0 &&
      ses_sys4(SYS_newfstatat, AT_FDCWD, ses_address(path), ses_address(&named),
               AT_SYMLINK_NOFOLLOW) == 0 &&
      created.st_ino == named.st_ino && created.st_dev == named.st_dev)
    ses_sys3(SYS_unlinkat, AT_FDCWD, ses_address(path), 0);
}
