// Names of users, by uid.
#ifndef SES_AGENT_IDENTITY_H
#define SES_AGENT_IDENTITY_H

#include <sys/types.h>

#include <chrono>
#include <mutex>
#include <optional>
#include <string>
#include <unordered_map>

namespace ses::agent {

// Any thread.  The first look-up of a uid may wait for a directory service, so the socket's loop
// never asks; answers are kept for a minute, also "no such user".
class UserNames {
public:
  // The user's name, else "uid-N".
  [[nodiscard]] std::string name_of(uid_t uid);

private:
  struct Known {
    std::string name;
    std::chrono::steady_clock::time_point until;
  };
  std::mutex mutex_;
  std::unordered_map<uid_t, Known> known_;
};

// The uid of a name that UserNames gave, also of "uid-N"; none when there is no such user.  May
// wait for a directory service.
[[nodiscard]] std::optional<uid_t> uid_of(const std::string &name);

// TEXT when it could be the name of a job, as "123", "123_4" or "123.server"; else empty.  Pure.
[[nodiscard]] std::string sensible_job(const std::string &text);

// The job of a batch system that process PID belongs to, as "123" or "123_4": what SLURM_JOB_ID (or
// PBS_JOBID, …) says in the environment it was started with, else its control group; empty when it
// is in none or is gone.  Never waits.  A program can claim any job; believe it for show only.
[[nodiscard]] std::string job_of(pid_t pid);

// Seconds since the epoch, to be told to others.  Anybody may set this clock, forward or back: how
// long something lasts is counted by Clock.
[[nodiscard]] double wall_clock();

// The short name the kernel has for process PID; empty when it is gone.  Never waits.
[[nodiscard]] std::string program_name(pid_t pid);

} // namespace ses::agent

#endif // SES_AGENT_IDENTITY_H
