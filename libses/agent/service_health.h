// Whether asking the service makes sense now: one circuit breaker for the whole agent.
//
// Any thread.  Closed (available) until a request fails as a whole: no connection, no reply in
// time, rubbish, 5xx, or a refused token.  Then programs are answered "unavailable" at once, and
// only the housekeeper asks again, after a delay that doubles from 0.25 s to 5 s with jitter, or
// the delay the service itself asked for.  Each change is logged once.
#ifndef SES_AGENT_SERVICE_HEALTH_H
#define SES_AGENT_SERVICE_HEALTH_H

#include <atomic>
#include <chrono>
#include <mutex>
#include <optional>
#include <random>
#include <string>

#include "service_client.h"
#include "unique_fd.h"

namespace ses::agent {

using Clock = std::chrono::steady_clock;

class ServiceHealth {
public:
  explicit ServiceHealth(std::string url); // named in the log

  [[nodiscard]] bool available() const { return available_.load(std::memory_order_relaxed); }

  // The service gave a usable answer.  Returns true when it was lost (or never found) before.
  bool answered();
  // A placement was booked: the service works in full, so the next delay starts small again.
  void worked();
  void failed(const std::string &cause, std::optional<std::chrono::milliseconds> retry_after);

  // Readable after each failure, until it is read: retry_at() has changed.
  [[nodiscard]] int failure_descriptor() const { return failure_.get(); }
  // When the service may be asked again; in the past while it is available.
  [[nodiscard]] Clock::time_point retry_at() const;

private:
  const std::string url_;
  const UniqueFd failure_; // eventfd
  std::atomic<bool> available_{false};
  mutable std::mutex mutex_;
  bool said_lost_ = false;
  unsigned failures_ = 0;
  Clock::time_point available_since_{};
  Clock::time_point retry_at_{};
  std::minstd_rand random_{std::random_device{}()};
};

// What REPLY means for the service as a whole: empty when it works (2xx, or a 4xx that is about
// the one request), else the cause in words.
[[nodiscard]] std::string failure_of(const Reply &reply);

} // namespace ses::agent

#endif // SES_AGENT_SERVICE_HEALTH_H
