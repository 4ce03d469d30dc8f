#include "notify_filter.h"

#include <fcntl.h>
#include <linux/audit.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <sys/prctl.h>
#include <sys/ptrace.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <cerrno>
#include <cstddef>
#include <vector>

namespace ses::run {
namespace {

#if defined(__x86_64__)
constexpr unsigned kMachine = AUDIT_ARCH_X86_64;
#elif defined(__aarch64__)
constexpr unsigned kMachine = AUDIT_ARCH_AARCH64;
#else
#error "the filter knows x86-64 and aarch64"
#endif

sock_filter load(size_t offset) {
  return BPF_STMT(BPF_LD | BPF_W | BPF_ABS, static_cast<unsigned>(offset));
}

sock_filter end_with(unsigned action) { return BPF_STMT(BPF_RET | BPF_K, action); }

// The low half of argument NUMBER; both machines are little-endian.
size_t argument(unsigned number) {
  return offsetof(seccomp_data, args) + number * sizeof(seccomp_data::args[0]);
}

// Notify CALL; or let the next line judge.
void notify_always(std::vector<sock_filter> &filter, unsigned call) {
  filter.push_back(BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, call, 0, 1));
  filter.push_back(end_with(SECCOMP_RET_USER_NOTIF));
}

// Notify CALL if O_CREAT is among the flags in argument NUMBER; or let the next line judge.
void notify_creating(std::vector<sock_filter> &filter, unsigned call, unsigned number) {
  filter.push_back(BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, call, 0, 4));
  filter.push_back(load(argument(number)));
  filter.push_back(BPF_JUMP(BPF_JMP | BPF_JSET | BPF_K, O_CREAT, 0, 1));
  filter.push_back(end_with(SECCOMP_RET_USER_NOTIF));
  filter.push_back(end_with(SECCOMP_RET_ALLOW));
}

// Notify CALL if the mode in argument NUMBER is that of a regular file; or let the next line judge.
void notify_making_files(std::vector<sock_filter> &filter, unsigned call, unsigned number) {
  filter.push_back(BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, call, 0, 6));
  filter.push_back(load(argument(number)));
  filter.push_back(BPF_STMT(BPF_ALU | BPF_AND | BPF_K, S_IFMT));
  filter.push_back(BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, 0, 1, 0));
  filter.push_back(BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, S_IFREG, 0, 1));
  filter.push_back(end_with(SECCOMP_RET_USER_NOTIF));
  filter.push_back(end_with(SECCOMP_RET_ALLOW));
}

// Notify CALL if argument NUMBER is VALUE; or let the next line judge.
void notify_where(std::vector<sock_filter> &filter, unsigned call, unsigned number,
                  unsigned value) {
  filter.push_back(BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, call, 0, 4));
  filter.push_back(load(argument(number)));
  filter.push_back(BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, value, 0, 1));
  filter.push_back(end_with(SECCOMP_RET_USER_NOTIF));
  filter.push_back(end_with(SECCOMP_RET_ALLOW));
}

// Refuse to a tracer what filters would hand it; or let the next line judge.
void refuse_option(std::vector<sock_filter> &filter, unsigned request) {
  filter.push_back(BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_ptrace, 0, 6));
  filter.push_back(load(argument(0)));
  filter.push_back(BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, request, 0, 3));
  filter.push_back(load(argument(3)));
  filter.push_back(BPF_JUMP(BPF_JMP | BPF_JSET | BPF_K, PTRACE_O_TRACESECCOMP, 0, 1));
  filter.push_back(end_with(SECCOMP_RET_ERRNO | EINVAL));
  filter.push_back(load(offsetof(seccomp_data, nr)));
}

std::vector<sock_filter> make_filter(bool refuses_io_uring) {
  std::vector<sock_filter> filter = {
      load(offsetof(seccomp_data, arch)),
      BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, kMachine, 1, 0),
      end_with(SECCOMP_RET_ALLOW),
      load(offsetof(seccomp_data, nr)),
  };
  notify_creating(filter, SYS_openat, 2);
#ifdef SYS_open
  notify_creating(filter, SYS_open, 1);
  notify_always(filter, SYS_creat);
  notify_making_files(filter, SYS_mknod, 1);
#endif
  notify_always(filter, SYS_openat2);
  notify_making_files(filter, SYS_mknodat, 2);
  notify_always(filter, SYS_landlock_restrict_self);
  notify_where(filter, SYS_seccomp, 0, SECCOMP_SET_MODE_FILTER);
  notify_where(filter, SYS_prctl, 0, PR_SET_SECCOMP);
  refuse_option(filter, PTRACE_SETOPTIONS);
  refuse_option(filter, PTRACE_SEIZE);
  if (refuses_io_uring) {
    filter.push_back(BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_io_uring_setup, 0, 1));
    filter.push_back(end_with(SECCOMP_RET_ERRNO | ENOSYS));
  }
  filter.push_back(end_with(SECCOMP_RET_ALLOW));
  return filter;
}

} // namespace

int install_notify_filter(bool refuses_io_uring) {
  std::vector<sock_filter> filter = make_filter(refuses_io_uring);
  const sock_fprog program = {static_cast<unsigned short>(filter.size()), filter.data()};
  constexpr unsigned kFlags =
      SECCOMP_FILTER_FLAG_NEW_LISTENER | SECCOMP_FILTER_FLAG_WAIT_KILLABLE_RECV;
  auto install = [&] {
    return static_cast<int>(syscall(SYS_seccomp, SECCOMP_SET_MODE_FILTER, kFlags, &program));
  };
  int listener = install();
  if (listener < 0 && errno == EACCES && prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) == 0) {
    listener = install();
  }
  return listener < 0 ? -errno : listener;
}

} // namespace ses::run
