// The thread that sees when placed files are closed.
//
// A placement is in use until the last descriptor made by the create is closed: the kernel then
// sends IN_CLOSE, however often it was duplicated or inherited.  The placement goes on when the
// creating process has the same file open once more, and is looked at every ten seconds from then
// on: what the process has open may be another file, which got the number of one that was removed.
// Otherwise it has ended, "closed", or "exited" when the process went away with the file open.  A
// file that outlives its process is watched on in the hands of its children.  Where inotify has no
// room left, the process's descriptors are looked at twice a second instead.  What happens soon
// after a look waits a little, so that one look at a process is about many of its files.  A file is
// created once: when one is reported under the device and inode of another, that one is gone and
// its number was given out again.
//
// An open file in which nothing moves for a while is reported as idle (processes/idle_files.h),
// unless it has to be looked for in its process.  Its end is reported with the rates at which it
// was written and read (rates/open_rates.h).
//
// What it does not see: writes through shared memory mappings after the close, other processes
// that open the file by themselves, and processes of another PID namespace above the agent's.
#ifndef SES_AGENT_WATCHER_H
#define SES_AGENT_WATCHER_H

#include <algorithm>
#include <atomic>
#include <condition_variable>
#include <cstdint>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <set>
#include <string>
#include <thread>
#include <vector>

#include "announcements/announcer.h"
#include "files/closed_files.h"
#include "files/followed_processes.h"
#include "node/unique_fd.h"
#include "processes/file_events.h"
#include "processes/identity.h"
#include "processes/idle_files.h"
#include "processes/jobs.h"
#include "processes/proc_files.h"
#include "processes/process_look.h"
#include "rates/open_rates.h"

namespace ses::agent {

// A placement whose file a program reported as created.
struct PlacedFile {
  uint64_t placement_id = 0;
  uid_t uid = 0;
  pid_t pid = 0;
  pid_t maker = 0; // process that created it for that one and closes it soon; 0: none
  FileId id;
  UniqueFd handle;  // invalid: none came, and the descriptor was closed before the agent looked
  std::string path; // empty: not known
  std::string application;
  std::optional<std::string> job;       // none: not looked for
  std::shared_ptr<const Origin> origin; // null: not known, as the next
  std::shared_ptr<const Choice> choice;
  int fd = -1;                  // of the process, where the file was seen; -1: not known
  bool searched = false;        // somebody has looked for it: without a handle it is open nowhere
  bool closed = false;          // and nobody has it open any more
  std::optional<uint64_t> size; // of one that is closed, if there is no handle
  bool orphan = false;          // its process was gone by then, so that it comes late

  // Seconds since the create; 0: not known.
  [[nodiscard]] double open_for() const {
    const auto now = std::chrono::steady_clock::now();
    return choice ? std::chrono::duration<double>(now - choice->decided).count() : 0;
  }
};

class Watcher {
public:
  // Watches at most MAX_WATCHED files, half of them of one uid; what goes beyond is looked for in
  // its process twice a second, up to four times as many, and then given up as "lost".  Where that
  // is full, users who have an equal share of it get no more.  Handles that wait and are numbered
  // HIGHEST_HANDLE or above are let go, so that descriptors for new connections remain.
  // JOBS_DIRECTORY: as in processes/jobs.h.
  Watcher(Announcer &announcer, const WritingOut &writing_out, const std::string &jobs_directory,
          size_t max_watched, int highest_handle);
  ~Watcher();

  // Reports FILES as opened, and their ends when those come.  Any thread, never waits.
  void watch(std::vector<PlacedFile> files);
  void watch(PlacedFile file);
  // Finds out which of FILES, open as far as the ledger knows, some process has open; those are
  // watched from now on, the rest are reported as ended.  Any thread, never waits.
  void compare(std::vector<LedgerFile> files);
  // A file of CHOICE that is closed, with BYTES, is followed if it has a handle.  Any thread.
  [[nodiscard]] bool is_worth_following(const Choice &choice, uint64_t bytes) const {
    return closed_.is_worth_following(choice, static_cast<double>(bytes));
  }
  // Ends the thread; returns how many files were still open.
  size_t stop();

private:
  struct Watched {
    PlacedFile file;
    bool polled = false;   // looked at twice a second, until it can be watched
    bool orphaned = false; // its process is gone, somebody else has it open
    bool notified = false; // of a close, since the last look
  };
  using Files = std::map<uint64_t, Watched>; // by placement id

  void work();
  void take_over();
  void compare_now(const std::vector<LedgerFile> &files);
  void begin(PlacedFile file, ProcessLooks &looks);
  [[nodiscard]] Files::iterator watched_as(const FileId &id, uid_t uid);
  [[nodiscard]] bool is_past(const PlacedFile &file);
  void read_events();
  void rest(Clock::time_point begun, Clock::duration used);
  void check(const std::set<uint64_t> &placements);
  void check_orphans(const std::set<uint64_t> &placements, EndReason reason);
  void orphaned(Files::iterator it);
  void process_gone(pid_t pid);
  void look_around();
  void end(Files::iterator it, EndReason reason);
  void watch_begun();
  void follow(const PlacedFile &file);
  void was_closed(const PlacedFile &file, EndReason reason, std::string path);
  void report_end(uid_t uid, uint64_t id, EndReason reason,
                  std::optional<uint64_t> size = std::nullopt, std::string path = {});
  void report(Clock::time_point now);
  [[nodiscard]] int milliseconds_to_next() const;

  Announcer &announcer_;
  Jobs jobs_; // of the thread
  const size_t max_watched_;
  const int highest_handle_;
  const UniqueFd epoll_;
  FileEvents closes_;                     // of the thread only, as the next
  std::vector<FileEvents::Wanted> begun_; // not watched yet
  IdleFiles idle_;
  OpenRates rates_;
  ClosedFiles closed_;
  const UniqueFd wake_; // eventfd
  std::atomic<bool> stopping_{false};

  std::mutex mutex_;              // guards the three below, and goes with the next
  std::condition_variable go_on_; // of a thread that rests
  std::vector<PlacedFile> arrived_;
  std::map<uid_t, size_t> arrived_of_; // how many of those
  std::optional<std::vector<LedgerFile>> to_compare_;

  // Of the thread only.
  Files files_;
  std::map<FileId, uint64_t> placement_of_; // the first of those in files_
  std::map<uid_t, size_t> files_of_;
  FollowedProcesses processes_;
  std::set<uint64_t> polled_;
  std::set<uint64_t> orphans_;
  std::set<uint64_t> unchecked_;                     // closed, perhaps
  std::set<uint64_t> closed_before_;                 // and open all the same, as it seemed
  std::vector<AnnouncementBacklog::Opening> opened_; // in this round, as the next
  std::vector<AnnouncementBacklog::Ending> ended_;
  std::vector<IdleFiles::Changed> moved_;
  std::vector<IdleFiles::Grown> closed_sizes_;
  bool logged_no_room_ = false;
  std::thread thread_;
};

} // namespace ses::agent

#endif // SES_AGENT_WATCHER_H
