// The thread that makes users' staging directories on the branches of unions (stage.h).
//
// request() and take() are for the socket's loop and never wait.
#ifndef SES_AGENT_STAGER_H
#define SES_AGENT_STAGER_H

#include <sys/types.h>

#include <condition_variable>
#include <deque>
#include <functional>
#include <mutex>
#include <set>
#include <string>
#include <thread>
#include <vector>

#include "node/unique_fd.h"
#include "systems/stage_watch.h"
#include "systems/union_health.h"

namespace ses::agent {

class Stager {
public:
  struct Branch {
    std::string mount_point; // of the union
    std::string target;
    std::string file_system; // see DescribedBranch
  };
  struct Result {
    uid_t uid = 0;
    std::string target;
    std::string why;      // it cannot be used; empty: it is there
    bool is_made = false; // since it was not
  };

  // IN_USE is called with each branch, on the thread.
  Stager(const UnionHealth &unions, std::function<void(const std::string &target)> in_use);
  ~Stager();

  // Makes sure of the directory of UID on BRANCH, soon.  FIRST: before what waits.
  void request(uid_t uid, const Branch &branch, bool first);
  // Removes it, after what was requested before: UID has no program here.
  void remove(uid_t uid, const Branch &branch);
  // Readable when there are results.
  [[nodiscard]] int ready_descriptor() const { return ready_.get(); }
  [[nodiscard]] std::vector<Result> take();
  // Of the directories that are there.
  [[nodiscard]] StageWatch &watch() { return watch_; }
  void stop();

private:
  struct Request {
    uid_t uid = 0;
    Branch branch;
    bool removes = false;
  };

  void work();
  void add(const Request &request, bool first);

  const UnionHealth &unions_;
  const std::function<void(const std::string &)> in_use_;
  const UniqueFd ready_; // eventfd
  StageWatch watch_;
  std::mutex mutex_;
  std::condition_variable wake_;
  bool stopping_ = false;
  std::deque<Request> waiting_;
  std::vector<Result> results_;
  std::set<std::string> in_trouble_; // branches, of the thread only
  std::thread thread_;
};

} // namespace ses::agent

#endif // SES_AGENT_STAGER_H
