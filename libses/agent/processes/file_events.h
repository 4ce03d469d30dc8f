// inotify, as far as the watcher needs it: with which watched files something happened.
//
// Used by one thread.  Placements are named by their id; two of them may share one file.
#ifndef SES_AGENT_FILE_EVENTS_H
#define SES_AGENT_FILE_EVENTS_H

#include <sys/types.h>

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <set>
#include <span>
#include <vector>

#include "node/unique_fd.h"

namespace ses::agent {

class FileEvents {
public:
  // KINDS of events, as inotify names them; with IN_ONESHOT a file is watched until the first.
  explicit FileEvents(uint32_t kinds);

  // Readable when there are events; -1 where inotify cannot be used at all.
  [[nodiscard]] int descriptor() const { return inotify_->get(); }
  struct Wanted {
    uint64_t placement;
    int handle; // to its file; O_PATH will do
  };
  // Watches the files of WANTED.  Those it cannot, with the errno of each; ETIMEDOUT: the file
  // system, which may have to be asked, does not answer.
  [[nodiscard]] std::map<uint64_t, int> add(const std::vector<Wanted> &wanted);
  void remove(uint64_t placement);

  [[nodiscard]] bool watches(uint64_t placement) const { return watch_of_.contains(placement); }

  struct Happened {
    std::set<uint64_t> placements;
    bool lost_some = false; // the kernel's queue was full: it may have been any file
  };
  // What happened since the last call; never waits, as the next.
  [[nodiscard]] Happened read_all();
  // Calls VISIT(placement, what happened to its file) for each event since the last call, in the
  // order of the events; IN_IGNORED: the file is gone.  True when the kernel lost some.
  bool read_each(const std::function<void(uint64_t placement, uint32_t kinds)> &visit);

private:
  void add_some(dev_t device, std::span<const Wanted> wanted, std::map<uint64_t, int> &failed);
  void forget(int watch);

  const uint32_t kinds_;
  const std::shared_ptr<const UniqueFd> inotify_;
  std::map<uint64_t, int> watch_of_;
  std::multimap<int, uint64_t> placements_of_;
};

} // namespace ses::agent

#endif // SES_AGENT_FILE_EVENTS_H
