// What the job scheduler says will run on this node: one small file per job in a directory.
//
//     user=alice            name or number; once
//     application=tar       any number of times, also none; for people who look, as the next
//     job=4711
//
// Written by a script that the scheduler runs before and after each job (packaging/slurm).  The
// directory and the files must belong to the agent's user and be writable by nobody else; what is
// not as described is passed over, and logged once.
#ifndef SES_AGENT_JOBS_H
#define SES_AGENT_JOBS_H

#include <sys/types.h>

#include <optional>
#include <set>
#include <string>

namespace ses::agent {

// The user that TEXT names; none when it names none, or has a line that is not as described.  Pure.
[[nodiscard]] std::optional<std::string> parse_job(const std::string &text);

class JobsDirectory {
public:
  explicit JobsDirectory(std::string path) : path_(std::move(path)) {}
  // Whose jobs there are; empty when there is no directory.  Touches its file system.
  [[nodiscard]] std::set<std::string> users();

  // Whose JOB is; none when nobody says.  Touches its file system.
  [[nodiscard]] std::optional<uid_t> owner_of(const std::string &job);

private:
  [[nodiscard]] bool is_trusted(int directory);

  const std::string path_;
  bool said_untrusted_ = false, said_bad_file_ = false;
};

} // namespace ses::agent

#endif // SES_AGENT_JOBS_H
