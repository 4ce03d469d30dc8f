#include "own_filter.h"

#include <linux/seccomp.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>

#include "notify_filter.h"

namespace ses::run {

OwnFilter look_at_own_filter() {
  if (prctl(PR_GET_SECCOMP, 0, 0, 0, 0) == SECCOMP_MODE_DISABLED) {
    return OwnFilter::kNone;
  }
  const pid_t child = fork();
  if (child == 0) {
    _exit(install_notify_filter(false) == -EBUSY ? 0 : 1);
  }
  int status = 1;
  while (child > 0 && waitpid(child, &status, 0) < 0 && errno == EINTR) {
  }
  return status == 0 ? OwnFilter::kListener : OwnFilter::kOther;
}

} // namespace ses::run
