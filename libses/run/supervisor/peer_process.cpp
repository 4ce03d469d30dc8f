#include "peer_process.h"

#include <fcntl.h>
#include <linux/sched.h>
#include <poll.h>
#include <signal.h>
#include <sys/syscall.h>

#include <cstdint>
#include <string_view>

#include "life_pipe.h"

namespace ses::run {

Descriptor start_peer(const char *role) {
  int peer = -1;
  const bool is_standby = std::string_view(role) == "standby";
  clone_args how = {};
  how.flags = CLONE_PIDFD;
  how.pidfd = reinterpret_cast<uintptr_t>(&peer);
  how.exit_signal = SIGCHLD;
  const Descriptor self(static_cast<int>(syscall(SYS_pidfd_open, getpid(), 0)));
  const long child = syscall(SYS_clone3, &how, sizeof how);
  if (child == 0) { // a copy of a thread among many: system calls only
    dup2(self.get(), kStarter);
    for (const int fd : {kListener, kSharedCalls, kStarter, kLifeRead, kLifeWrite}) {
      fcntl(fd, F_SETFD, 0);
    }
    close_range(is_standby ? kLifeWrite : kLifeWrite + 1, ~0U, 0);
    // A name of its own: it outlives what ends all processes of the name "ses-supervisor".
    const char *arguments[] = {is_standby ? "ses-standby" : "ses-supervisor", role, nullptr};
    execve("/proc/self/exe", const_cast<char **>(arguments), environ);
    _exit(1);
  }
  return Descriptor(child < 0 ? -1 : peer);
}

void Peer::keep() {
  const auto now = std::chrono::steady_clock::now();
  if (!pidfd_ && now >= next_) {
    next_ = now + std::chrono::milliseconds(kRetryMs);
    pidfd_ = start_peer(role_);
  }
}

bool is_over() {
  pollfd listener = {kListener, 0, 0};
  return poll(&listener, 1, 0) > 0 && (listener.revents & (POLLHUP | POLLNVAL)) != 0;
}

} // namespace ses::run
