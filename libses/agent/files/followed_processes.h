// The processes that have watched files open, whose ends an epoll reports.
//
// Used by one thread.
#ifndef SES_AGENT_FOLLOWED_PROCESSES_H
#define SES_AGENT_FOLLOWED_PROCESSES_H

#include <sys/types.h>

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <map>
#include <set>
#include <vector>

#include "node/unique_fd.h"

namespace ses::agent {

// False: EPOLL does not report with DATA when FD is readable.
bool add_to(int epoll, int fd, uint64_t data);

class FollowedProcesses {
public:
  using Time = std::chrono::steady_clock::time_point;

  // EPOLL reports the end of a process with its number.  MOST_WATCHED: files at a time.
  FollowedProcesses(int epoll, size_t most_watched) : epoll_(epoll), most_watched_(most_watched) {}

  // PID has the file of PLACEMENT open.  False: its end will not be reported.
  [[nodiscard]] bool add(pid_t pid, uint64_t placement);
  void remove(pid_t pid, uint64_t placement);
  [[nodiscard]] bool is_followed(pid_t pid) const;
  // The placements of a process that has ended; it is forgotten.
  [[nodiscard]] std::set<uint64_t> take(pid_t pid);
  // Forgets processes without files, but not at once: most create more files soon.
  void forget_idle(Time now);

private:
  struct Process {
    UniqueFd pidfd;
    std::set<uint64_t> placements;
  };

  const int epoll_;
  const size_t most_watched_;
  std::map<pid_t, Process> processes_;
  std::vector<pid_t> idle_; // have no files, or had none for a while
  Time forgotten_at_{};
};

} // namespace ses::agent

#endif // SES_AGENT_FOLLOWED_PROCESSES_H
