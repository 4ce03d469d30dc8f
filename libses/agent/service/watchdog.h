// The watchdog: reports which threads of the agent have stalled, in the log, for ses doctor and to
// the service.
//
// A thread of its own, which makes no call that users or storage can hold up.
#ifndef SES_AGENT_WATCHDOG_H
#define SES_AGENT_WATCHDOG_H

#include <functional>
#include <utility>
#include <vector>

#include "node/heartbeat.h"
#include "node/repeating_thread.h"
#include "service/health.h"

namespace ses::agent {

class Watchdog {
public:
  // ON_CHANGE is called, on its thread, when a thread stalls or goes on.
  Watchdog(ServiceHealth &health, std::function<void()> on_change)
      : health_(health), on_change_(std::move(on_change)) {
    thread_.start();
  }
  void stop() { thread_.stop(); }

private:
  [[nodiscard]] std::chrono::nanoseconds look();

  ServiceHealth &health_;
  const std::function<void()> on_change_;
  std::vector<StalledThread> stalled_; // as reported last
  RepeatingThread thread_{[this] { return look(); }};
};

// In words, for a log.
[[nodiscard]] std::string words_of(const StalledThread &stalled);

} // namespace ses::agent

#endif // SES_AGENT_WATCHDOG_H
