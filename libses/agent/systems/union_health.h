// Which branches of the mergerfs unions on this node can take files now.
//
// A thread looks at every union once a second: modes, reserves and options can be changed while it
// is mounted.  The questions below are for any thread and never wait.  A union that was not looked
// at yet, or does not answer, takes no file; that holds up nothing of another union.  A union asks
// all of its branches itself, so one that hangs is as good as all of them.
#ifndef SES_AGENT_UNION_HEALTH_H
#define SES_AGENT_UNION_HEALTH_H

#include <functional>
#include <map>
#include <mutex>
#include <string>
#include <vector>

#include "node/repeating_thread.h"
#include "service/messages.h"
#include "systems/union_reading.h"

namespace ses::agent {

class UnionHealth {
public:
  using Systems = std::function<std::vector<StorageSystem>()>;

  explicit UnionHealth(Systems unions) : unions_(std::move(unions)) {}

  void start() { thread_.start(); }
  void stop() { thread_.stop(); }
  // There may be other unions than before.
  void look_soon() { thread_.wake(); }

  // ON_CHANGE is called, on the thread, when some branch can no longer, or again, take files.
  void set_on_change(std::function<void()> on_change) { on_change_ = std::move(on_change); }

  [[nodiscard]] bool has_looked_at(const std::string &mount_point) const;
  // The union mounted there, as of the last look.
  [[nodiscard]] Union seen(const std::string &mount_point) const;

private:
  [[nodiscard]] std::chrono::nanoseconds look();

  const Systems unions_;
  std::function<void()> on_change_;
  mutable std::mutex mutex_;
  std::map<std::string, Union> seen_; // by mount point; guarded
  RepeatingThread thread_{[this] { return look(); }};
};

} // namespace ses::agent

#endif // SES_AGENT_UNION_HEALTH_H
