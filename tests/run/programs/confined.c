/* Gives up the right to make files (Landlock), and tries to make one. */
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <linux/landlock.h>
#include <stdio.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <unistd.h>

static void try_in(const char *where) {
  int fd = open("file", O_CREAT | O_EXCL | O_WRONLY, 0644);
  printf("%s: %d\n", where, fd < 0 ? -errno : fd);
  if (fd >= 0) {
    close(fd);
    unlink("file");
  }
}

int main(int argc, char **argv) {
  if (argc < 2 || chdir(argv[1]) != 0)
    return 2;
  try_in("outside");
  struct landlock_ruleset_attr rules = {.handled_access_fs = LANDLOCK_ACCESS_FS_MAKE_REG};
  long ruleset = syscall(SYS_landlock_create_ruleset, &rules, sizeof rules, 0);
  if (ruleset < 0) {
    printf("no landlock\n");
    return 0;
  }
  prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0);
  printf("confined: %ld\n", syscall(SYS_landlock_restrict_self, ruleset, 0));
  try_in("inside");
  return 0;
}
