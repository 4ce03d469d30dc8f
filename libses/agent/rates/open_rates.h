// At which rates open placed files are written and read, seen from outside their programs.
//
// Processes are looked at in turn, each with all of its files in which something moves: at first
// ten times a second, then at every twentieth of the time the youngest file is open, at last every
// half second.  All looks together take 1/400 of a core, or 1/1000 once all files are open for ten
// seconds: the more files, the longer between two.
// Files that are closed within the first tenth of a second are never looked at, idle ones
// (processes/idle_files.h) not until they move again.
//
// Nothing is asked of the programs, and of file systems only what the kernel has in memory.
//
// Used by one thread.
#ifndef SES_AGENT_OPEN_RATES_H
#define SES_AGENT_OPEN_RATES_H

#include <chrono>
#include <cstdint>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <unordered_map>
#include <utility>
#include <vector>

#include "processes/file_events.h"
#include "processes/idle_files.h"
#include "rates/movement.h"
#include "rates/process_io.h"
#include "rates/unwritten.h"

namespace ses::agent {

class OpenRates {
public:
  using Time = std::chrono::steady_clock::time_point;

  OpenRates();

  struct File {
    uint64_t placement = 0;
    int handle = -1; // stays valid until end()
    FileId id;
    pid_t pid = 0;
    int fd = -1;          // of that process; -1: not known
    double open_for = 0;  // seconds since the create
    bool is_late = false; // it was open before this agent was, or nobody knows since when
    std::string target;   // the branch, OST or pool it was placed on; empty: not known
  };
  void add(File file, Time now);
  // When look() is due; none: never.
  [[nodiscard]] std::optional<Time> due() const;
  // MOVED: files that became idle, or are not any more.  Returns those that were seen to grow.
  [[nodiscard]] std::vector<IdleFiles::Grown> look(const std::vector<IdleFiles::Changed> &moved,
                                                   Time now);
  // The file was closed, and has SIZE.  Null when it was not added.
  [[nodiscard]] std::shared_ptr<const Achieved> end(uint64_t placement, uint64_t size, Time now);
  // The same of one that was closed before the agent saw it, OPEN_FOR seconds after the create.
  [[nodiscard]] static std::shared_ptr<const Achieved> never_seen(uint64_t size, double open_for);

private:
  struct Followed {
    File file;
    Time created{};
    uint64_t size = 0, reserved = 0;
    std::vector<DescriptorInfo> descriptors; // of the process, as seen last
    bool was_seen = false;
    bool idle = false;
    bool synchronizing = false;
    bool can_write = true, can_read = true, durable = false;
    Movement movement;
  };
  struct Process {
    std::set<uint64_t> files; // in which something moves
    std::optional<ProcessBytes> bytes;
    Time due{};
    Time searched_at{};
  };
  using Files = std::vector<std::pair<uint64_t, Followed *>>;

  [[nodiscard]] bool is_young(const Process &process, Time now) const;
  void set_idle(uint64_t placement, bool idle, Time now);
  void look_at(pid_t pid, Process &process, Time now);
  [[nodiscard]] Files files_of(const Process &process, Time now);
  [[nodiscard]] static SeenFile see_size(Followed &followed, uint64_t placement,
                                         const FileEvents::Happened &modified,
                                         const FileEvents::Happened &accessed);
  [[nodiscard]] static bool see_positions(pid_t pid, Followed &followed, SeenFile &seen);
  static void move_positions(const Files &files, const std::vector<SeenFile> &seen);
  static void see_positions(pid_t pid, Process &process, const Files &files,
                            std::vector<SeenFile> &seen, bool everywhere, Time now);
  static void search(pid_t pid, const Files &files);
  static constexpr std::chrono::seconds kSearchEvery{1}; // through the descriptors of a process
  static void see_unfinished(pid_t pid, const ProcessBytes &counted, const ProcessBytes &moved,
                             const Files &files, std::vector<SeenFile> &seen);
  void watch_unexplained(const Files &files, const std::vector<SeenFile> &seen, bool writes,
                         bool reads);
  void enter(pid_t pid, const Files &files, const std::vector<MovedBytes> &moved, Time now);
  void schedule(pid_t pid, Process &process, Time now);

  std::unordered_map<uint64_t, Followed> files_;
  std::unordered_map<pid_t, Process> processes_;
  std::set<std::pair<Time, pid_t>> looks_;
  Time not_before_{};
  std::vector<IdleFiles::Grown> grown_; // in this look
  FileEvents modifies_, accesses_;      // of what is not explained otherwise
  Unwritten unwritten_;
};

} // namespace ses::agent

#endif // SES_AGENT_OPEN_RATES_H
