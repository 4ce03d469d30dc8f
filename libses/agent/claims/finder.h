// Finds the files that claims speak of, and hands them to the watcher.
//
// A thread of its own: looking up a name may wait for a file system.  Users take turns, and what is
// looked up on a file system the user runs is only what the kernel has in memory already.  A file
// counts only if it has the device and inode of the claim, is regular, and is the user's own; one
// that cannot be found (closed and removed, its process gone) is handed on with what is known.
#ifndef SES_AGENT_FINDER_H
#define SES_AGENT_FINDER_H

#include <condition_variable>
#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <set>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "announcement.h"
#include "claims/claim_ring.h"
#include "watcher.h"
#include "wire.h"

namespace ses::agent {

// What a user says was created.
struct ClaimedFile {
  uid_t uid = 0;
  uint64_t placement_id = 0;
  std::shared_ptr<const Origin> origin;
  std::shared_ptr<const Choice> choice;
  dev_t device = 0; // of the storage system, as the next
  std::string mount_point;
  Claim claim;
};

class Finder {
public:
  // DROP: the placement of a user has come to nothing; called on any thread.
  Finder(Watcher &watcher, std::function<void(uid_t, uint64_t placement_id)> drop);
  ~Finder();

  // Never waits.
  void find(ClaimedFile file);
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
  void hand_over(ClaimedFile file);
  [[nodiscard]] Found look_for(const ClaimedFile &file, bool is_process, UniqueFd &handle);
  [[nodiscard]] UniqueFd look_by_name(const ClaimedFile &file, bool is_process);
  void look_at_directories();
  void hand_over_orphans();

  Watcher &watcher_;
  const std::function<void(uid_t, uint64_t)> drop_;
  // Of the thread only.
  std::map<FileId, Directory> directories_;
  std::vector<PlacedFile> orphans_;
  Clock::time_point look_at_{};   // through all processes, for the orphans
  Clock::time_point search_at_{}; // not before, for a working directory

  std::mutex mutex_;
  std::condition_variable wake_;
  std::map<uid_t, std::deque<ClaimedFile>> waiting_;
  std::set<Directory> learned_; // looked at, or to be
  std::vector<Directory> to_look_at_;
  size_t count_ = 0;
  uid_t last_turn_ = 0;
  bool stopping_ = false;
  Clock::time_point stop_by_{};
  std::thread thread_;
};

} // namespace ses::agent

#endif // SES_AGENT_FINDER_H
