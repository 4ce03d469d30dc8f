// inotify, as far as the watcher needs it: which watched files had a descriptor closed.
//
// Used by one thread.  Placements are named by their id; two of them may share one file.
#ifndef SES_AGENT_CLOSE_EVENTS_H
#define SES_AGENT_CLOSE_EVENTS_H

#include <cstdint>
#include <map>
#include <set>

#include "unique_fd.h"

namespace ses::agent {

class CloseEvents {
public:
  CloseEvents();

  // Readable when there are events; -1 where inotify cannot be used at all.
  [[nodiscard]] int descriptor() const { return inotify_.get(); }
  // Watches the file of HANDLE (O_PATH will do) for PLACEMENT.  False when there is no room, with
  // the reason in errno.
  [[nodiscard]] bool add(int handle, uint64_t placement);
  void remove(uint64_t placement);

  struct Closed {
    std::set<uint64_t> placements;
    bool lost_some = false; // the kernel's queue was full: any file may have been closed
  };
  // What happened since the last call; never waits.
  [[nodiscard]] Closed read_all();

private:
  const UniqueFd inotify_;
  std::map<uint64_t, int> watch_of_;
  std::multimap<int, uint64_t> placements_of_;
};

} // namespace ses::agent

#endif // SES_AGENT_CLOSE_EVENTS_H
