#include "settings/known_filter.h"

#include <fcntl.h>
#include <stdint.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/stat.h>

#include "runtime/sys.h"

#define BOOT_ID 36 /* characters */

static uint64_t users; /* the number of the namespace of users; 0: it was not known */

static bool is_boot_id(const char *said) {
  char seen[BOOT_ID];
  int fd = ses_sys_openat(AT_FDCWD, "/proc/sys/kernel/random/boot_id", O_RDONLY | O_CLOEXEC, 0);
  if (fd < 0)
    return false;
  long got = ses_sys3(SYS_read, fd, ses_address(seen), sizeof seen);
  ses_sys_close(fd);
  return got == BOOT_ID && memcmp(said, seen, BOOT_ID) == 0;
}

/* ":4026531841", after which AT points on; 0: it is none. */
static uint64_t number(const char **at) {
  uint64_t value = 0;
  if (**at != ':')
    return 0;
  for (++*at; **at >= '0' && **at <= '9'; ++*at)
    value = value * 10 + (uint64_t)(**at - '0');
  return value;
}

static uint64_t number_of(const char *namespace) {
  struct statx status;
  return ses_sys_statx(AT_FDCWD, namespace, 0, STATX_INO, &status) == 0 ? status.stx_ino : 0;
}

bool ses_filter_is_known(const char *said) {
  if (!said || strnlen(said, BOOT_ID + 1) <= BOOT_ID ||
      ses_sys2(SYS_prctl, PR_GET_SECCOMP, 0) == 0 ||
      ses_sys2(SYS_prctl, PR_GET_NO_NEW_PRIVS, 0) != 0 || !is_boot_id(said))
    return false;
  const char *at = said + BOOT_ID;
  uint64_t mounts = number(&at);
  users = number(&at);
  if (mounts == 0 || *at || number_of("/proc/self/ns/mnt") != mounts)
    users = 0;
  return ses_filter_is_the_only_one();
}

bool ses_filter_is_the_only_one(void) {
  return users != 0 && ses_sys2(SYS_prctl, PR_GET_NO_NEW_PRIVS, 0) == 0 &&
         number_of("/proc/self/ns/user") == users;
}
