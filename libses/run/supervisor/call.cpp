#include "call.h"

#include <fcntl.h>
#include <linux/openat2.h>
#include <sys/stat.h>
#include <sys/syscall.h>

#include <climits>

extern "C" {
#include "place/place.h"
}

namespace ses::run {
namespace {

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
      how.resolve != 0 || how.flags > INT_MAX || (how.flags & O_CREAT) == 0) {
    return std::nullopt;
  }
  return CreateCall{static_cast<int>(data.args[0]), data.args[1], static_cast<int>(how.flags),
                    static_cast<mode_t>(how.mode)};
}

} // namespace

std::optional<CreateCall> read_call(const seccomp_notif &call, const Caller &caller) {
  const seccomp_data &data = call.data;
  switch (data.nr) {
#ifdef SYS_open
  case SYS_open:
    return CreateCall{AT_FDCWD, data.args[0], static_cast<int>(data.args[1]),
                      static_cast<mode_t>(data.args[2])};
  case SYS_creat:
    return CreateCall{AT_FDCWD, data.args[0], O_CREAT | O_WRONLY | O_TRUNC,
                      static_cast<mode_t>(data.args[1])};
  case SYS_mknod:
    return read_mknod(AT_FDCWD, data.args[0], data.args[1]);
#endif
  case SYS_openat:
    return CreateCall{static_cast<int>(data.args[0]), data.args[1], static_cast<int>(data.args[2]),
                      static_cast<mode_t>(data.args[3])};
  case SYS_openat2:
    return read_openat2(data, caller);
  case SYS_mknodat:
    return read_mknod(static_cast<int>(data.args[0]), data.args[1], data.args[2]);
  default:
    return std::nullopt;
  }
}

bool is_confining(const seccomp_notif &call) { return call.data.nr == SYS_landlock_restrict_self; }

} // namespace ses::run
