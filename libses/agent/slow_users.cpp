#include "slow_users.h"

#include <algorithm>

namespace ses::agent {
namespace {

using std::chrono::milliseconds;

constexpr std::chrono::seconds kLately{10};
constexpr milliseconds kShortestPause{1000}, kLongestPause{30000};
constexpr size_t kMostUsers = 4096;

} // namespace

void SlowUsers::answered(uid_t uid, Time now) {
  in_vain_.clear();
  pauses_.erase(uid);
  if (answered_at_.size() >= kMostUsers && !answered_at_.contains(uid)) {
    std::erase_if(answered_at_, [&](const auto &one) { return now - one.second > kLately; });
  }
  answered_at_[uid] = now;
}

bool SlowUsers::is_only_one(uid_t uid, Time now) {
  in_vain_.insert(uid);
  const bool others_answered = std::ranges::any_of(answered_at_, [&](const auto &one) {
    return one.first != uid && now - one.second <= kLately;
  });
  if (in_vain_.size() > 1 || !others_answered) {
    return false;
  }
  if (pauses_.size() >= kMostUsers) {
    std::erase_if(pauses_, [&](const auto &one) { return one.second.until <= now; });
  }
  Pause &pause = pauses_[uid];
  if (pause.until <= now) { // else several were under way at once
    pause.length = std::clamp(pause.length * 2, kShortestPause, kLongestPause);
    std::uniform_int_distribution<milliseconds::rep> chance(pause.length.count() / 2,
                                                            pause.length.count());
    pause.until = now + milliseconds(chance(random_));
  }
  return true;
}

bool SlowUsers::pauses(uid_t uid, Time now) const {
  const auto found = pauses_.find(uid);
  return found != pauses_.end() && now < found->second.until;
}

} // namespace ses::agent
