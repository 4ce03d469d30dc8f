// Finds the files that reports in plans speak of, and hands them to the watcher.
//
// A thread of its own: looking up a name may wait for a file system.  Users take turns, and what is
// looked up on a file system the user runs is only what the kernel has in memory already.  A file
// counts only if it has the device and inode of the report, is regular, and is the user's own; one
// that cannot be found (closed and removed, its process gone) is handed on with what is known.
#ifndef SES_AGENT_PLAN_FINDER_H
#define SES_AGENT_PLAN_FINDER_H

#include <condition_variable>
#include <deque>
#include <map>
#include <mutex>
#include <set>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "announcement.h"
#include "plan_ring.h"
#include "returns.h"
#include "watcher.h"
#include "wire.h"

namespace ses::agent {

// A report about a placement that was dealt to UID for files on DEVICE.
struct ReportedFile {
  uid_t uid = 0;
  Placement placement; // of a placement an earlier agent dealt, the id alone
  dev_t device = 0;
  std::string mount_point; // of the storage system
  PlanReport report;
};

class PlanFinder {
public:
  PlanFinder(Watcher &watcher, const Returns &returns);
  ~PlanFinder();

  // Never waits.
  void find(ReportedFile file);
  // A file of the user's is at PATH: its directory is a place to look for others in.  Never waits.
  void learn(const std::string &mount_point, const std::string &path);
  // Ends the thread when it has looked at what waits, or LIMIT has passed.
  void stop(std::chrono::milliseconds limit);

private:
  using Clock = std::chrono::steady_clock;
  // Mount point, and path below it with a slash at the end if it is not empty.
  using Directory = std::pair<std::string, std::string>;
  enum class Found { kFile, kNothing, kStranger };

  void work();
  void hand_over(ReportedFile file);
  [[nodiscard]] Found look_for(const ReportedFile &file, bool is_process, UniqueFd &handle);
  [[nodiscard]] UniqueFd look_by_name(const ReportedFile &file, bool is_process);
  void look_at_directories();
  void hand_over_orphans();

  Watcher &watcher_;
  const Returns &returns_;
  // Of the thread only.
  std::map<FileId, Directory> directories_;
  std::vector<PlacedFile> orphans_;
  Clock::time_point look_at_{};   // through all processes, for the orphans
  Clock::time_point search_at_{}; // not before, for a working directory

  std::mutex mutex_;
  std::condition_variable wake_;
  std::map<uid_t, std::deque<ReportedFile>> waiting_;
  std::set<Directory> learned_; // looked at, or to be
  std::vector<Directory> to_look_at_;
  size_t count_ = 0;
  uid_t last_turn_ = 0;
  bool stopping_ = false;
  Clock::time_point stop_by_{};
  std::thread thread_;
};

} // namespace ses::agent

#endif // SES_AGENT_PLAN_FINDER_H
