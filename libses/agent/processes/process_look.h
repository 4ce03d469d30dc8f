// One look at processes: what they have open, read once however many of their files are asked
// about.
//
// A snapshot for one use: nothing of a process that may have ended since is believed.
#ifndef SES_AGENT_PROCESS_LOOK_H
#define SES_AGENT_PROCESS_LOOK_H

#include <sys/types.h>

#include <map>
#include <optional>
#include <set>
#include <string>

#include "processes/jobs.h"
#include "processes/proc_files.h"

namespace ses::agent {

class ProcessLook {
public:
  explicit ProcessLook(pid_t pid) : pid_(pid) {}

  // UID runs it.
  [[nodiscard]] bool is_of(uid_t uid);
  // A handle to FILE by descriptor FD, else an invalid one.
  [[nodiscard]] UniqueFd take_at(int fd, const FileId &file);
  [[nodiscard]] bool has_at(int fd, const FileId &file);
  // Also true while the process cannot be looked at: a later look decides.
  [[nodiscard]] bool has_open(const FileId &file);
  // The same when it may be moving FILE from one descriptor to another, as a shell does that
  // redirects: a look from the first descriptor to the last misses one that moves down meanwhile.
  [[nodiscard]] bool has_moved(const FileId &file);
  // Which of its children, and theirs, has FILE open, maybe inherited from it; 0: none.
  [[nodiscard]] pid_t child_with(const FileId &file);
  [[nodiscard]] const ProcessState &state();
  [[nodiscard]] bool is_exiting();
  // As Jobs::job_of().
  [[nodiscard]] const std::string &job(uid_t uid, const std::optional<std::string> &named,
                                       Jobs &jobs);

private:
  struct At {
    UniqueFd handle;
    std::optional<FileFacts> facts;
  };
  [[nodiscard]] At &at(int fd);

  const pid_t pid_;
  std::map<int, At> at_;
  std::optional<std::optional<uid_t>> owner_;
  std::optional<std::set<FileId>> open_;
  bool is_unknown_ = false, looked_twice_ = false;
  std::optional<std::map<FileId, pid_t>> of_children_;
  std::optional<ProcessState> state_;
  std::optional<std::string> job_, job_named_; // of the last call
  uid_t job_uid_ = 0;
};

// Those of one snapshot, by pid.
class ProcessLooks {
public:
  [[nodiscard]] ProcessLook &at(pid_t pid) { return looks_.try_emplace(pid, pid).first->second; }

private:
  std::map<pid_t, ProcessLook> looks_;
};

} // namespace ses::agent

#endif // SES_AGENT_PROCESS_LOOK_H
