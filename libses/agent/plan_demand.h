// How many tickets an entry of the plan should hold.
//
// Pure: time and counts are passed in.  One ticket at first; twice as many each time half of them
// were used up within half a second (of less than 16: more than all of them, because files may come
// one after the other), or somebody found none, up to 1024; half as many with each half second in
// which less than an eighth was used.  So an entry follows a storm within a few bookings and is
// back to one ticket five seconds after it.
#ifndef SES_AGENT_PLAN_DEMAND_H
#define SES_AGENT_PLAN_DEMAND_H

#include <chrono>
#include <cstdint>

#include "ses/plan.h"

namespace ses::agent {

class PlanDemand {
public:
  using Time = std::chrono::steady_clock::time_point;

  // TAKEN tickets were taken and MISSED were not there since the last call.
  void update(uint64_t taken, uint64_t missed, Time now);

  [[nodiscard]] unsigned level() const { return level_; }
  // Tickets were taken or missed within the last seconds.
  [[nodiscard]] bool in_use(Time now) const;

private:
  unsigned level_ = 1;
  uint64_t since_growth_ = 0;
  uint64_t in_window_ = 0;
  Time window_at_{};
  Time used_at_{};
};

} // namespace ses::agent

#endif // SES_AGENT_PLAN_DEMAND_H
