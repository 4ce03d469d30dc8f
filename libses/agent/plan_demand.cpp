#include "plan_demand.h"

#include <algorithm>

namespace ses::agent {
namespace {

constexpr std::chrono::milliseconds kWindow{500};
constexpr std::chrono::seconds kInUse{5};
constexpr unsigned kMost = SES_PLAN_TICKETS;
constexpr unsigned kSmall = 16;        // up to here files may well come one after the other
constexpr unsigned kMostByMissing = 8; // saying that something was missing costs nothing

} // namespace

void PlanDemand::update(uint64_t taken, uint64_t missed, Time now) {
  const uint64_t wanted = taken + std::min<uint64_t>(missed, kMostByMissing);
  if (wanted > 0) {
    used_at_ = now;
  }
  since_growth_ += wanted;
  in_window_ += wanted;
  while (level_ < kMostByMissing && missed >= level_ && since_growth_ >= std::max(1u, level_ / 2)) {
    since_growth_ -= std::max(1u, level_ / 2);
    level_ *= 2;
  }
  const auto growth = [&] { return level_ >= kSmall ? level_ / 2 : level_ + 1; };
  while (level_ < kMost && taken > 0 && since_growth_ >= growth()) {
    since_growth_ -= growth();
    level_ *= 2;
  }
  if (now - window_at_ >= kWindow) {
    if (in_window_ < std::max(1u, level_ / 8)) {
      level_ = std::max(1u, level_ / 2);
    }
    since_growth_ = 0;
    window_at_ = now;
    in_window_ = 0;
  }
}

bool PlanDemand::in_use(Time now) const { return used_at_ != Time{} && now - used_at_ < kInUse; }

} // namespace ses::agent
