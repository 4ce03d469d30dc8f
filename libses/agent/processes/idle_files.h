// Which of the open files are idle: nothing was written to them or read from them for a while.
//
// An open file is looked at once a second, unless somebody else saw it grow since.  One that has
// grown moves.  One that has not is watched for the next read or write, by inotify until the first
// of them; without any for three seconds it is idle, and costs nothing until the kernel reports
// that it moves again.  What goes through shared mappings is not seen, unless the file grows.
//
// Used by one thread.
#ifndef SES_AGENT_IDLE_FILES_H
#define SES_AGENT_IDLE_FILES_H

#include <chrono>
#include <cstdint>
#include <deque>
#include <optional>
#include <unordered_map>
#include <utility>
#include <vector>

#include "processes/file_events.h"

namespace ses::agent {

class IdleFiles {
public:
  using Time = std::chrono::steady_clock::time_point;
  struct Changed {
    uint64_t placement_id = 0;
    bool idle = false; // or else not any more
  };
  struct Grown {
    uint64_t placement = 0, size = 0; // bytes, or as many as are allocated to it
    bool closed = false;              // that is its size, though its end is reported later
  };

  IdleFiles();

  // Readable when an idle file moves.
  [[nodiscard]] int descriptor() const { return moves_.descriptor(); }
  // HANDLE stays valid until remove().
  void add(uint64_t placement, int handle, Time now);
  void remove(uint64_t placement);
  // It was seen to have grown to SIZE: it need not be looked at for a second.
  void grew(uint64_t placement, uint64_t size, Time now);
  // When look() is due; none: never.
  [[nodiscard]] std::optional<Time> due() const;
  // Those that are 16 MiB or larger, and a quarter larger than when they were returned last.
  [[nodiscard]] std::vector<Grown> grown() { return std::exchange(grown_, {}); }
  // What changed since the last call.
  [[nodiscard]] std::vector<Changed> look(Time now);

private:
  struct File {
    int handle = -1;
    uint64_t size = 0, returned = 0;
    Time moved_at{}, grew_at{};
    bool idle = false;
    bool asks = false; // its file system, at the next look
  };

  [[nodiscard]] bool has_grown(uint64_t placement, File &file, Time now);
  void see(uint64_t placement, File &file, uint64_t size);

  FileEvents moves_;
  std::vector<Grown> grown_;
  std::unordered_map<uint64_t, File> files_;
  std::deque<std::pair<Time, uint64_t>> looks_; // in the order of time; not at idle files
};

} // namespace ses::agent

#endif // SES_AGENT_IDLE_FILES_H
