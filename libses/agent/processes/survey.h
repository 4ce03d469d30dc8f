// The thread that looks every few seconds who is on this node, or will be.
//
// Users are those with processes (uid 1000 and above: the system's own services have to ask first)
// and those the job scheduler names (processes/jobs.h).  Without root only the agent's own user can
// be served, so nobody else is looked for.
#ifndef SES_AGENT_SURVEY_H
#define SES_AGENT_SURVEY_H

#include <sys/types.h>

#include <memory>
#include <mutex>
#include <set>
#include <string>

#include "node/repeating_thread.h"
#include "processes/jobs.h"

namespace ses::agent {

struct NodeUsers {
  std::set<uid_t> with_processes; // of any uid
  std::set<uid_t> with_jobs;
};

class Survey {
public:
  explicit Survey(const std::string &jobs_directory) : jobs_(jobs_directory) {}
  void start() { thread_.start(); }
  void stop() { thread_.stop(); }

  // What was found last; null when that was given out already.
  [[nodiscard]] std::unique_ptr<NodeUsers> take();

private:
  [[nodiscard]] std::chrono::nanoseconds work();
  [[nodiscard]] NodeUsers look();

  Jobs jobs_; // of the thread only
  std::mutex mutex_;
  std::unique_ptr<NodeUsers> found_;
  RepeatingThread thread_{[this] { return work(); }};
};

} // namespace ses::agent

#endif // SES_AGENT_SURVEY_H
