// Finds the files that claims name, and hands them to the watcher.
//
// A thread of its own: looking up a name may wait for a file system.  Users take turns.  A file
// counts only if it has the device and inode of the claim, is regular, and is the user's own.
//
// Files are looked for in rounds.  A round that comes soon after another waits for more files, so
// that the cost of a look at a process, a directory or all processes is that of many files; the
// longer a round takes, the longer the next one waits.  Most files are closed by then: their name
// gives the size, and a handle is made only of those that are large enough to be followed.  One
// that cannot be found (closed and removed, its process gone) is handed on with what is known.
// One whose process is gone is no stream until it is found that somebody else has it open.
#ifndef SES_AGENT_FINDER_H
#define SES_AGENT_FINDER_H

#include <chrono>
#include <condition_variable>
#include <deque>
#include <map>
#include <mutex>
#include <string>
#include <thread>
#include <vector>

#include "claims/claimed_file.h"
#include "claims/names.h"
#include "files/watcher.h"
#include "processes/jobs.h"
#include "processes/process_look.h"
#include "table/exchange.h"

namespace ses::agent {

class Finder {
public:
  // JOBS_DIRECTORY: names the owners of jobs, as in processes/jobs.h.
  Finder(Watcher &watcher, Exchange &exchange, const std::string &jobs_directory);
  ~Finder();

  // Never waits.
  void find(std::vector<ClaimedFile> files);
  // A file of the user's is at PATH: its directory is a place to look for others in.  Never waits.
  void learn(const std::string &mount_point, const std::string &path) {
    names_.learn(mount_point, path);
  }
  // Ends the thread when it has looked at what waits, or LIMIT has passed.
  void stop(std::chrono::milliseconds limit);

private:
  using Clock = std::chrono::steady_clock;
  using Lock = std::unique_lock<std::mutex>;
  enum class Outcome { kOpen, kClosed, kOrphan, kStranger };

  void work();
  [[nodiscard]] std::vector<ClaimedFile> next_round();
  void look_for(std::vector<ClaimedFile> files);
  [[nodiscard]] Outcome look_for(const ClaimedFile &file, ProcessLook &process, PlacedFile &placed);
  [[nodiscard]] UniqueFd open_in(const ClaimedFile &file, ProcessLook &process);
  void hand_over_orphans();

  Watcher &watcher_;
  Exchange &exchange_;
  Names names_; // of the thread, as the next three
  Jobs jobs_;
  std::vector<PlacedFile> orphans_;
  Clock::time_point look_at_{}; // through all processes, for the orphans

  std::mutex mutex_;
  std::condition_variable wake_;
  std::map<uid_t, std::deque<ClaimedFile>> waiting_;
  size_t count_ = 0;
  bool idle_ = true; // the thread waits for files, not for the next round
  bool stopping_ = false;
  Clock::time_point stop_by_{};
  std::thread thread_;
};

} // namespace ses::agent

#endif // SES_AGENT_FINDER_H
