#include "harmless.h"

#include <fcntl.h>
#include <linux/capability.h>
#include <linux/filter.h>
#include <linux/futex.h>
#include <linux/seccomp.h>
#include <poll.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/shm.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/un.h>
#include <unistd.h>

#include <csignal>
#include <cstdint>
#include <fstream>

#include "in_child.h"

namespace ses::run {
namespace {

// What the library calls for a file (libses/src), with arguments that do nothing.  A refusal is no
// harm.
void make_calls() {
  static char room[4096];
  static uint32_t word;
  const long at = reinterpret_cast<long>(room);
  const long nothing = reinterpret_cast<long>("");
  const timespec now{};
  sockaddr_un address{};
  address.sun_family = AF_UNIX;
  const long fd = syscall(SYS_socket, AF_UNIX, SOCK_SEQPACKET | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
  pollfd waits{static_cast<int>(fd), POLLIN, 0};
  const long calls[][7] = {
      {SYS_connect, fd, reinterpret_cast<long>(&address), sizeof address},
      {SYS_getsockopt, fd, SOL_SOCKET, SO_PEERCRED, at, reinterpret_cast<long>(&word)},
      {SYS_sendto, fd, at, 0, MSG_DONTWAIT | MSG_NOSIGNAL},
      {SYS_sendmsg, fd, 0, MSG_DONTWAIT | MSG_NOSIGNAL},
      {SYS_recvfrom, fd, at, 0, MSG_DONTWAIT | MSG_TRUNC},
      {SYS_ppoll, reinterpret_cast<long>(&waits), 1, reinterpret_cast<long>(&now), 0, 0},
      {SYS_fcntl, fd, F_DUPFD_CLOEXEC, 3},
      {SYS_shmget, 1, 0, 0},
      {SYS_shmctl, -1, IPC_STAT, at},
      {SYS_shmat, -1, 0, SHM_RDONLY},
      {SYS_shmat, -1, 0, 0},
      {SYS_shmdt, 1},
      {SYS_futex, reinterpret_cast<long>(&word), FUTEX_WAKE, 1},
      {SYS_openat, AT_FDCWD, nothing, O_PATH | O_CLOEXEC},
      {SYS_openat, AT_FDCWD, nothing, O_RDONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600},
      {SYS_linkat, AT_FDCWD, nothing, AT_FDCWD, nothing, 0},
      {SYS_unlinkat, AT_FDCWD, nothing, 0},
      {SYS_mknodat, AT_FDCWD, nothing, S_IFREG | 0600, 0},
      {SYS_readlinkat, AT_FDCWD, nothing, at, 1},
      {SYS_faccessat2, AT_FDCWD, nothing, 0, 0},
      {SYS_statx, AT_FDCWD, nothing, 0, STATX_BASIC_STATS, at},
      {SYS_newfstatat, AT_FDCWD, nothing, at, 0},
      {SYS_fstat, -1, at},
      {SYS_statfs, nothing, at},
      {SYS_fstatfs, -1, at},
      {SYS_quotactl_fd, -1, 0, 0, at},
      {SYS_fchown, -1, -1, -1},
      {SYS_fchmod, -1, 0},
      {SYS_getxattr, nothing, nothing, at, 0},
      {SYS_fgetxattr, -1, nothing, at, 0},
      {SYS_setxattr, nothing, nothing, at, 0, 0},
      {SYS_lsetxattr, nothing, nothing, at, 0, 0},
      {SYS_fsetxattr, -1, nothing, at, 0, 0},
      {SYS_mmap, 0, 0, 0, 0, -1, 0},
      {SYS_munmap, 0, 0},
      {SYS_madvise, 0, 0, 0},
      {SYS_rt_sigprocmask, SIG_BLOCK, 0, 0, 8},
      {SYS_process_vm_readv, getpid(), 0, 0, 0, 0, 0},
      {SYS_get_robust_list, 0, at, at + 8},
      {SYS_prlimit64, 0, 0, 0, at},
      {SYS_getcwd, at, sizeof room},
      {SYS_getrandom, at, 1, 1},
      {SYS_gettid},
      {SYS_getpid},
      {SYS_geteuid},
      {SYS_getegid},
      {SYS_write, -1, at, 0},
      {SYS_prctl, PR_GET_SECCOMP},
      {SYS_prctl, PR_GET_NO_NEW_PRIVS},
      {SYS_close, -1},
  };
  for (const auto &call : calls) {
    syscall(call[0], call[1], call[2], call[3], call[4], call[5], call[6]);
  }
}

// Can a process add a filter that is not seen from its no_new_privs, in its own user namespace?
bool may_hide_a_filter() {
  sock_filter allow = BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW);
  const sock_fprog program = {1, &allow};
  return prctl(PR_GET_NO_NEW_PRIVS, 0, 0, 0, 0) != 0 ||
         prctl(PR_CAPBSET_READ, CAP_SYS_ADMIN) != 0 ||
         syscall(SYS_seccomp, SECCOMP_SET_MODE_FILTER, 0, &program) == 0;
}

} // namespace

std::string prove_harmless() {
  const bool is_harmless = holds_in_child([] {
    make_calls();
    return !may_hide_a_filter();
  });
  struct stat mounts {};
  struct stat users {};
  std::string boot;
  if (!is_harmless || stat("/proc/self/ns/mnt", &mounts) != 0 ||
      stat("/proc/self/ns/user", &users) != 0 ||
      !std::getline(std::ifstream("/proc/sys/kernel/random/boot_id"), boot)) {
    return "";
  }
  return boot + ":" + std::to_string(mounts.st_ino) + ":" + std::to_string(users.st_ino);
}

} // namespace ses::run
