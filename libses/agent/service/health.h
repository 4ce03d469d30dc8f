// Whether asking a service makes sense now, and which: one circuit breaker for the whole agent.
//
// Any thread.  Closed (available) until a request fails as a whole: no connection, no reply in
// time, rubbish, 5xx, or a refused token.  Then programs are answered without the service, and only
// the housekeeper asks again: another service of the site at once, one that failed after a random
// delay between 0 and a bound that doubles from 0.2 s to 30 s (full jitter), never before the
// service itself asked for.  So agents that lost a service together do not come back together.
// Where the service could not answer all nodes within seconds, it sets the time over which they are
// to come back: the bound begins with that.  Where no service listened, as on a node that starts
// before its service, the next look does not wait that long once a program needs the service, if
// there are few nodes: a look costs the service nothing while it is away, but those of many nodes
// would all meet it as soon as it is back.  Each change is logged once.
#ifndef SES_AGENT_SERVICE_HEALTH_H
#define SES_AGENT_SERVICE_HEALTH_H

#include <atomic>
#include <chrono>
#include <mutex>
#include <optional>
#include <random>
#include <string>
#include <vector>

#include "node/heartbeat.h"
#include "node/unique_fd.h"
#include "service/client.h"

namespace ses::agent {

using Clock = std::chrono::steady_clock;

class ServiceHealth {
public:
  // STATE_FILE is written for ses doctor: "reached URL", or "lost URL CAUSE"; on a line of its own
  // "refused NUMBER WHAT", if the service refused anything; and for each thread of this agent that
  // has stalled "stalled PID THREAD SINCE NAME WORK", SINCE in seconds since the epoch.  Empty: no
  // file is written.
  ServiceHealth(Services &services, std::string state_file);
  ~ServiceHealth();
  ServiceHealth(const ServiceHealth &) = delete;
  ServiceHealth &operator=(const ServiceHealth &) = delete;

  [[nodiscard]] bool available() const { return available_.load(std::memory_order_relaxed); }

  // The service in use gave a usable answer.  Returns true when none did before.
  bool answered();
  // It took an announcement: it works in full, so the next delay starts small again.  Nodes that
  // lose it are to come back over RETURN_WITHIN.
  void worked(std::chrono::milliseconds return_within);
  // REPLY is no usable one, because of CAUSE.  What an earlier service did changes nothing.
  void failed(const std::string &cause, const Reply &reply);

  // How many files and other items the service refused until now, and which last: "NUMBER WHAT".
  void refused(const std::string &number_and_what);
  // These threads have stalled, and no others.
  void stalled(const std::vector<StalledThread> &threads);

  // A program needs the service, which is not available.  True: a look whether it is back begins,
  // and looked_descriptor() shows its end.  False: it is too early for one, PACE being the
  // service's own.
  bool needed(std::chrono::milliseconds pace);
  // Readable when such a look is over, until it is read.
  [[nodiscard]] int looked_descriptor() const { return looked_.get(); }

  // Readable whenever retry_at() has changed, until it is read.
  [[nodiscard]] int failure_descriptor() const { return failure_.get(); }
  // When a service may be asked again; in the past while it is available.
  [[nodiscard]] Clock::time_point retry_at() const;

private:
  struct State {
    unsigned failures = 0; // one after the other
    Clock::time_point not_before{};
    bool logged_lost = false;
    bool nobody_there = false; // when it was asked last
  };

  void look_is_over();                       // mutex_ is held
  void write_state(const std::string &text); // mutex_ is held

  Services &services_;
  const std::string state_file_;
  std::string state_, refused_, stalled_; // lines of the state file
  const UniqueFd failure_, looked_;       // eventfd
  std::atomic<bool> available_{false};
  mutable std::mutex mutex_;
  std::vector<State> states_;
  Clock::time_point available_since_{};
  Clock::time_point worked_at_{};
  std::chrono::milliseconds return_within_{0};
  Clock::time_point retry_at_{};
  Clock::time_point look_not_before_{};
  bool looking_ = true; // the housekeeper begins with it
  std::minstd_rand random_{std::random_device{}()};
};

// What REPLY means for the service as a whole: empty when it works (2xx, or a 4xx that is about
// the one request), else the cause in words.
[[nodiscard]] std::string failure_of(const Reply &reply);

} // namespace ses::agent

#endif // SES_AGENT_SERVICE_HEALTH_H
