// The peer processes: watchdog and worker restart each other, and the standby restarts both when
// they die together, so that a process listens at any time.  Only killing all three at once makes
// creating calls fail.
#ifndef SES_RUN_SUPERVISOR_PEER_PROCESS_H
#define SES_RUN_SUPERVISOR_PEER_PROCESS_H

#include <chrono>

#include "system/descriptor.h"

namespace ses::run {

// Descriptors that every peer starts with.
inline constexpr int kListener = 3;
inline constexpr int kSharedCalls = 4;
inline constexpr int kStarter = 5; // a pidfd of the process that started this one

// Starts a process of ROLE ("watchdog", "worker" or "standby"); its pidfd, or none.  Safe in a
// process of many threads.
Descriptor start_peer(const char *role);

inline constexpr int kRetryMs = 50; // starting a peer, or what a peer needs

// A peer that is started again whenever it has died.
class Peer {
public:
  // PIDFD is closed with this; -1: it does not run yet.
  explicit Peer(const char *role, int pidfd = -1) : role_(role), pidfd_(pidfd) {}

  [[nodiscard]] int pidfd() const { return pidfd_.get(); }
  explicit operator bool() const { return static_cast<bool>(pidfd_); }
  void has_died() { pidfd_ = Descriptor(); }
  // Starts it where it does not run; not more often than every kRetryMs, for it may die at once
  // again and again, as one that gets no memory.
  void keep();

private:
  const char *role_;
  Descriptor pidfd_;
  std::chrono::steady_clock::time_point next_;
};

// Are processes left that may call?
bool is_over();

} // namespace ses::run

#endif // SES_RUN_SUPERVISOR_PEER_PROCESS_H
