// Reports when a staging directory (BRANCH/.ses) is renamed or removed, so that nothing is staged
// in what has its name then.
//
// add() is for one thread, the rest for another.  Where the kernel has no room for a watch nothing
// is reported; then the library's own look at what it made is left.
#ifndef SES_AGENT_STAGE_WATCH_H
#define SES_AGENT_STAGE_WATCH_H

#include <sys/types.h>

#include <map>
#include <memory>
#include <mutex>
#include <set>
#include <string>

#include "node/unique_fd.h"

namespace ses::agent {

class StageWatch {
public:
  StageWatch();

  // Watches TOP, the staging directory on the branch TARGET, on DEVICE; again changes nothing.  A
  // branch that does not answer is not waited for, and not watched.  False: it was moved meanwhile.
  [[nodiscard]] bool add(int top, dev_t device, const std::string &target);
  // Readable when there is something to take.
  [[nodiscard]] int descriptor() const { return inotify_->get(); }
  // The branches whose staging directory is not where it was.
  [[nodiscard]] std::set<std::string> take();

private:
  const std::shared_ptr<const UniqueFd> inotify_;
  std::mutex mutex_;
  std::map<int, std::string> target_of_;
  std::set<int> moved_first_; // before add() knew its watch
};

} // namespace ses::agent

#endif // SES_AGENT_STAGE_WATCH_H
