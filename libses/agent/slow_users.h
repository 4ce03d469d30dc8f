// Users whose bookings the service does not answer in time while it answers those of others.
//
// One user's questions can be dear to the service, or so many that they wait there.  Such a user is
// left without the service for a moment; that is no reason to do without it for everybody.
// No I/O or threads: whoever owns it passes the time in.
#ifndef SES_AGENT_SLOW_USERS_H
#define SES_AGENT_SLOW_USERS_H

#include <sys/types.h>

#include <chrono>
#include <map>
#include <random>
#include <set>

namespace ses::agent {

class SlowUsers {
public:
  using Time = std::chrono::steady_clock::time_point;

  // A booking of UID was answered.
  void answered(uid_t uid, Time now);
  // One was not, in time.  True when that says nothing about others: somebody else was answered
  // lately, and since the last answer nobody else waited in vain.  Then UID pauses.
  [[nodiscard]] bool is_only_one(uid_t uid, Time now);
  // The service should not be asked for UID now.
  [[nodiscard]] bool pauses(uid_t uid, Time now) const;

private:
  struct Pause {
    Time until{};
    std::chrono::milliseconds length{0}; // before chance; doubles each time
  };

  std::map<uid_t, Time> answered_at_;
  std::map<uid_t, Pause> pauses_;
  std::set<uid_t> in_vain_; // since the last answer
  std::minstd_rand random_{std::random_device{}()};
};

} // namespace ses::agent

#endif // SES_AGENT_SLOW_USERS_H
