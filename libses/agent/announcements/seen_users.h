// Users of the node whose needs the service is asked for: each in its turn, where there are more
// than one message has room for.
//
// Not thread-safe.
#ifndef SES_AGENT_SEEN_USERS_H
#define SES_AGENT_SEEN_USERS_H

#include <sys/types.h>

#include <algorithm>
#include <chrono>
#include <map>
#include <vector>

#include "ses/limits.h"

namespace ses::agent {

class SeenUsers {
public:
  using Time = std::chrono::steady_clock::time_point;

  // True: not within the last hour.
  [[nodiscard]] bool see(uid_t uid, Time now) {
    const auto [user, first] = users_.try_emplace(uid);
    user->second = now;
    return first;
  }

  // SES_ANNOUNCED_USERS_MAX at most, those that were not among the last ones first.
  [[nodiscard]] std::vector<uid_t> take(Time now) {
    std::erase_if(users_, [now](const auto &user) { return now - user.second > kLife; });
    std::vector<uid_t> taken;
    auto user = users_.lower_bound(next_);
    for (size_t left = std::min<size_t>(users_.size(), SES_ANNOUNCED_USERS_MAX); left > 0; --left) {
      user = user == users_.end() ? users_.begin() : user;
      taken.push_back((user++)->first);
    }
    next_ = user == users_.end() ? 0 : user->first;
    return taken;
  }

private:
  static constexpr std::chrono::hours kLife{1};
  std::map<uid_t, Time> users_;
  uid_t next_ = 0;
};

} // namespace ses::agent

#endif // SES_AGENT_SEEN_USERS_H
