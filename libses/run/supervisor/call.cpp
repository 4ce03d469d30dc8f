#include "call.h"

#include <fcntl.h>
#include <linux/filter.h>
#include <linux/openat2.h>
#include <sys/stat.h>
#include <sys/syscall.h>

#include <algorithm>
#include <vector>

extern "C" {
#include "place/place.h"
}

namespace ses::run {
namespace {

// openat2() refuses what it does not know, where openat() passes over it.
constexpr uint64_t kFlags = O_ACCMODE | O_CREAT | O_EXCL | O_NOCTTY | O_TRUNC | O_APPEND |
                            O_NONBLOCK | O_SYNC | O_DSYNC | O_ASYNC | O_DIRECT | O_NOFOLLOW |
                            O_NOATIME | O_CLOEXEC;
constexpr uint64_t kModes = 07777;

CreateCall of_open(int dirfd, uint64_t path, uint64_t flags, uint64_t mode) {
  return {dirfd, path, static_cast<int>(flags) & ~SES_PLACE_NODE, static_cast<mode_t>(mode)};
}

std::optional<CreateCall> read_mknod(int dirfd, uint64_t path, uint64_t mode) {
  const auto type = static_cast<mode_t>(mode) & S_IFMT;
  if (type != S_IFREG && type != 0) {
    return std::nullopt;
  }
  return CreateCall{dirfd, path, O_CREAT | O_EXCL | O_WRONLY | SES_PLACE_NODE,
                    static_cast<mode_t>(mode) & ~static_cast<mode_t>(S_IFMT)};
}

std::optional<CreateCall> read_openat2(const seccomp_data &data, const Caller &caller) {
  open_how how = {};
  if (data.args[3] != sizeof how || !caller.read(data.args[2], &how, sizeof how) ||
      how.resolve != 0 || (how.flags & ~kFlags) != 0 || (how.mode & ~kModes) != 0 ||
      (how.flags & O_CREAT) == 0) {
    return std::nullopt;
  }
  return of_open(static_cast<int>(data.args[0]), data.args[1], how.flags, how.mode);
}

} // namespace

std::optional<CreateCall> read_call(const seccomp_notif &call, const Caller &caller) {
  const seccomp_data &data = call.data;
  switch (data.nr) {
#ifdef SYS_open
  case SYS_open:
    return of_open(AT_FDCWD, data.args[0], data.args[1], data.args[2]);
  case SYS_creat:
    return of_open(AT_FDCWD, data.args[0], O_CREAT | O_WRONLY | O_TRUNC, data.args[1]);
  case SYS_mknod:
    return read_mknod(AT_FDCWD, data.args[0], data.args[1]);
#endif
  case SYS_openat:
    return of_open(static_cast<int>(data.args[0]), data.args[1], data.args[2], data.args[3]);
  case SYS_openat2:
    return read_openat2(data, caller);
  case SYS_mknodat:
    return read_mknod(static_cast<int>(data.args[0]), data.args[1], data.args[2]);
  default:
    return std::nullopt;
  }
}

bool is_for_tracer(const seccomp_notif &call) {
  const seccomp_data &data = call.data;
  if (data.nr != SYS_seccomp && data.nr != SYS_prctl) {
    return false;
  }
  const Caller caller(static_cast<pid_t>(call.pid));
  sock_fprog program = {};
  if (!caller.read(data.args[2], &program, sizeof program)) {
    return false;
  }
  std::vector<sock_filter> lines(program.len);
  return caller.read(reinterpret_cast<uintptr_t>(program.filter), lines.data(),
                     lines.size() * sizeof lines[0]) &&
         std::ranges::any_of(lines, [](const sock_filter &line) {
           return line.code == (BPF_RET | BPF_K) &&
                  (line.k & SECCOMP_RET_ACTION_FULL) == SECCOMP_RET_TRACE;
         });
}

bool is_confining(const seccomp_notif &call) { return call.data.nr == SYS_landlock_restrict_self; }

} // namespace ses::run
