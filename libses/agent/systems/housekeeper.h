// The thread that keeps what the agent knows fresh: storage systems, mounts, whether the service
// is there, and staging directories free of leftovers.
#ifndef SES_AGENT_HOUSEKEEPER_H
#define SES_AGENT_HOUSEKEEPER_H

#include <functional>
#include <map>
#include <mutex>
#include <random>
#include <string>
#include <thread>

#include "node/unique_fd.h"
#include "service/client.h"
#include "service/health.h"
#include "systems/systems.h"

namespace ses::agent {

class Housekeeper {
public:
  struct Listeners {
    std::function<void()> on_found;                      // the service answers again
    std::function<void(const std::string &)> on_systems; // its storage systems, as JSON
    std::function<void()> on_mounts;                     // the mounts have changed
    // The interval of heartbeats that the service asks for.
    std::function<std::chrono::milliseconds()> pace;
  };
  // The listeners are called on the housekeeper's thread.
  Housekeeper(const Services &services, Token &token, const Trust &trust, ServiceHealth &health,
              Systems &systems, Listeners listeners);
  ~Housekeeper();

  void start();
  // TARGET is a branch in use: leftovers in it are removed now and every half minute.  Any thread.
  void sweep_from_now_on(const std::string &target);
  void stop();

private:
  void work();
  void refresh();
  void sweep();
  [[nodiscard]] int milliseconds_to_next() const;

  ServiceClient client_;
  Token &token_;
  ServiceHealth &health_;
  Systems &systems_;
  const Listeners listeners_;
  const UniqueFd wake_; // eventfd
  std::atomic<bool> stopping_{false};
  Clock::time_point refresh_at_{};
  mutable std::mutex mutex_; // guards sweep_at_
  std::map<std::string, Clock::time_point> sweep_at_;
  std::minstd_rand random_{std::random_device{}()};
  std::thread thread_;
};

} // namespace ses::agent

#endif // SES_AGENT_HOUSEKEEPER_H
