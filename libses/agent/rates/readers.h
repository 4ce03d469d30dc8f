// The thread that sees which files programs read, that they did not create.
//
// Opening a file for reading costs a program nothing, so no program reports it.  Once a
// second this thread looks for processes that have files of the node's storage systems open for
// reading; whatever a process has in its memory, such as its environment, is not read.  A
// file is read while its position moves, or else its process's bytes, and for three seconds after
// that.  A process that has read nothing is not looked at: its bytes say so.
//
// Bounds, each second: 64 processes asked whether they have such files, 256 looked at, 2,048
// descriptors. All looks together take 1/400 of a core: the more there is to look at, the longer
// between two. Without such processes a look at the list of processes every three seconds is all.
//
// A file system is asked once where a file lies that is found, and again if it did not answer.
#ifndef SES_AGENT_READERS_H
#define SES_AGENT_READERS_H

#include <sys/types.h>

#include <chrono>
#include <functional>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <unordered_map>
#include <utility>
#include <vector>

#include "node/repeating_thread.h"
#include "processes/identity.h"
#include "processes/proc_files.h"
#include "rates/process_io.h"
#include "rates/reading.h"

namespace ses::agent {

// When and how often processes were asked whether they read.
using AskedBefore =
    std::unordered_map<pid_t, std::pair<std::chrono::steady_clock::time_point, unsigned>>;

// Those of PROCESSES to be asked now, who was asked least first, and of them
// who began last.  Pure.
[[nodiscard]] std::vector<pid_t> to_ask(const std::set<pid_t> &processes, const AskedBefore &asked,
                                        std::chrono::steady_clock::time_point now);

class Readers {
public:
  using Time = std::chrono::steady_clock::time_point;
  struct Place {
    std::string system, element;
  };
  struct Parts {
    // The devices of the storage systems that are mounted.
    std::function<std::set<dev_t>()> devices;
    // Where a file lies, empty: not known; none: its file system does not answer.
    std::function<std::optional<Place>(dev_t device, int handle)> place_of;
    // Those of these files that are reported as streams already.
    std::function<std::set<FileId>(const std::set<FileId> &)> announced;
    // All that is read on this node, in the order of their keys; called when it changed.
    std::function<void(std::vector<Reading>)> report;
  };

  explicit Readers(Parts parts) : parts_(std::move(parts)) {}
  void start() { thread_.start(); }
  void stop() { thread_.stop(); }

private:
  struct Descriptor {
    FileId file;
    std::optional<Place> place; // none: asked again at the next look
    uint64_t position = 0;
    double rate = 0; // bytes/s in the last look in which it moved
    Time moved_at{};
    bool was_found = false; // in this look
  };
  struct Process {
    uint64_t started = 0; // as in ProcessState
    std::string user;
    std::optional<ProcessBytes> bytes; // when it was looked at, or before that
    std::optional<ProcessBytes> bytes_before;
    std::map<int, Descriptor> descriptors; // that can read
    Time looked_at{};
  };

  [[nodiscard]] std::chrono::nanoseconds work();
  void find_processes(const std::set<dev_t> &devices, Time now);
  [[nodiscard]] bool look(Time now);
  [[nodiscard]] static bool has_read(pid_t pid, Process &process, Time now);
  void look_at(pid_t pid, Process &process, const std::set<dev_t> &devices, size_t &looked_at,
               Time now);
  [[nodiscard]] std::vector<Reading> reading() const;

  const Parts parts_;
  UserNames names_; // of the thread, as the next
  std::map<pid_t, Process> processes_;
  AskedBefore others_;
  pid_t last_ = 0; // that was looked at
  std::vector<Reading> reported_;
  RepeatingThread thread_{[this] { return work(); }};
};

} // namespace ses::agent

#endif // SES_AGENT_READERS_H
