#include "call.h"

#include <fcntl.h>
#include <linux/openat2.h>
#include <sys/syscall.h>

#include <climits>

namespace ses::run {
namespace {

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
#endif
  case SYS_openat:
    return CreateCall{static_cast<int>(data.args[0]), data.args[1], static_cast<int>(data.args[2]),
                      static_cast<mode_t>(data.args[3])};
  case SYS_openat2:
    return read_openat2(data, caller);
  default:
    return std::nullopt;
  }
}

bool is_confining(const seccomp_notif &call) { return call.data.nr == SYS_landlock_restrict_self; }

} // namespace ses::run
