// Jobs that the scheduler will run on this node: one small file per job in a directory.
//
//     user=alice            name or number; once
//     application=tar       any number of times, also none; for people who look, as the next
//     job=4711
//
// Written as root by what the scheduler runs before and after each job: the plugin of Slurm
// (libses/slurm/record.h) or its prolog (packaging/slurm).  The directory and the files must belong
// to root or the agent's user and be writable by nobody else; what is not as described is passed
// over, and logged once.  The directory is on a disk of this node: the thread that asks reads it
// itself, and hangs where it does.
//
// And which job a file counts for: only one that root's files or control groups give to its user.
#ifndef SES_AGENT_JOBS_H
#define SES_AGENT_JOBS_H

#include <sys/types.h>

#include <optional>
#include <set>
#include <string>
#include <string_view>

namespace ses::agent {

// The user that TEXT names; none when it names none, or has a line that is not as described.  Pure.
[[nodiscard]] std::optional<std::string> parse_job(const std::string &text);

// TEXT when it could be the name of a job, as "123", "123_4" or "123.server"; else empty.  Pure.
[[nodiscard]] std::string sensible_job(const std::string &text);

// The job in whose control group a process of UID is, by its /proc/PID/cgroup, of Slurm, PBS or
// LSF: as "123" or "123.server".  None: it is in no job's.  Empty: in that of a job which the group
// says is another user's.  Only root makes groups where it looks; users may have some of any name
// below their session, or below the group of their job.  Pure.
[[nodiscard]] std::optional<std::string> job_in(std::string_view groups, uid_t uid);

// Of one thread.
class Jobs {
public:
  // CONTROL_GROUPS: where the kernel shows them.
  explicit Jobs(std::string directory, std::string control_groups = "/sys/fs/cgroup")
      : directory_(std::move(directory)), control_groups_(std::move(control_groups)) {}
  // Users whose jobs will run, by the directory; empty when there is none.  Touches its file
  // system.
  [[nodiscard]] std::set<std::string> users();

  // The job that a file of UID counts for, which process PID made; empty: none.  Its control group
  // decides.  A job that the program NAMED (none: see what it was started with) counts only if the
  // directory says that it is UID's, and if the process is gone or the job has no control group.
  [[nodiscard]] std::string job_of(pid_t pid, uid_t uid, std::optional<std::string> named);

private:
  [[nodiscard]] bool is_trusted(int directory);
  [[nodiscard]] std::optional<uid_t> owner_of(const std::string &job);
  [[nodiscard]] bool has_control_group(const std::string &job) const;

  const std::string directory_, control_groups_;
  bool logged_untrusted_ = false, logged_bad_file_ = false;
};

} // namespace ses::agent

#endif // SES_AGENT_JOBS_H
