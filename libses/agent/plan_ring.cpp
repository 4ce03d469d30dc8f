#include "plan_ring.h"

#include <algorithm>
#include <atomic>
#include <cstring>

#include "wire.h"

namespace ses::agent {
namespace {

constexpr std::chrono::seconds kSweepEvery{1}; // while slots are claimed
constexpr std::chrono::minutes kUnfinishedFor{3};
constexpr pid_t kLargestPid = 1 << 22;

uint64_t load(uint64_t &at) { return std::atomic_ref(at).load(std::memory_order_acquire); }

} // namespace

std::optional<PlanReport> parse_plan_report(const ses_plan_report &shared) {
  const bool created = shared.outcome == SES_OUTCOME_CREATED;
  if (shared.placement_id == 0 || (!created && shared.outcome != SES_OUTCOME_NOT_CREATED) ||
      shared.path_length >= sizeof shared.path) {
    return std::nullopt;
  }
  PlanReport report;
  report.placement_id = shared.placement_id;
  report.file = {static_cast<dev_t>(shared.device), shared.inode};
  if (shared.directory_device != 0) {
    report.directory = FileId{static_cast<dev_t>(shared.directory_device), shared.directory_inode};
  }
  report.created = created;
  report.error = shared.error;
  report.fd = shared.fd;
  report.dirfd = shared.dirfd;
  report.pid = shared.pid > 0 && shared.pid <= kLargestPid ? shared.pid : 0;
  report.application = printable(
      std::string(shared.application, strnlen(shared.application, sizeof shared.application)));
  report.path.assign(shared.path, strnlen(shared.path, shared.path_length));
  return report;
}

PlanRing::PlanRing(ses_plan &plan) : plan_(plan) {
  const uint64_t claimed = load(plan_.head.claimed);
  next_ = claimed;
  touched_ = static_cast<unsigned>(std::min<uint64_t>(claimed, SES_PLAN_REPORTS));
}

// The time between copying and freeing is the program's only if it breaks the rules.
PlanRing::Slot PlanRing::read_slot(unsigned slot, Time now, std::vector<PlanReport> &reports) {
  ses_plan_report &shared = plan_.reports[slot];
  uint64_t state = load(shared.state);
  if (state == 0) {
    unfinished_.erase(slot);
    return Slot::kFree;
  }
  if (state % 2 != 0) {
    give_up_on(slot, state, now);
    return Slot::kUnfinished;
  }
  ses_plan_report copy;
  std::memcpy(&copy, &shared, sizeof copy);
  std::atomic_signal_fence(std::memory_order_seq_cst); // no second look at what may have changed
  std::atomic_ref(shared.state).compare_exchange_strong(state, 0, std::memory_order_acq_rel);
  unfinished_.erase(slot);
  if (auto report = parse_plan_report(copy)) {
    reports.push_back(std::move(*report));
  }
  return Slot::kRead;
}

void PlanRing::give_up_on(unsigned slot, uint64_t state, Time now) {
  Claim &claim = unfinished_[slot];
  if (claim.state != state) {
    claim = {state, now};
  } else if (now - claim.since > kUnfinishedFor) {
    uint64_t expected = state;
    std::atomic_ref(plan_.reports[slot].state)
        .compare_exchange_strong(expected, 0, std::memory_order_acq_rel);
    unfinished_.erase(slot);
  }
}

bool PlanRing::was_claimed() const { return load(plan_.head.claimed) != next_; }

bool PlanRing::expects_more() const {
  return !unfinished_.empty() || sweep_ < touched_ || !swept_since_ || was_claimed();
}

std::vector<PlanReport> PlanRing::read(size_t most, Time now) {
  std::vector<PlanReport> reports;
  size_t read = 0;
  std::vector<unsigned> known;
  for (const auto &[slot, claim] : unfinished_) {
    known.push_back(slot);
  }
  for (const unsigned slot : known) {
    read += read < most && read_slot(slot, now, reports) == Slot::kRead ? 1 : 0;
  }
  const uint64_t claimed = load(plan_.head.claimed);
  if (claimed != next_) {
    swept_since_ = false;
    touched_ = static_cast<unsigned>(
        std::max<uint64_t>(touched_, std::min<uint64_t>(claimed, SES_PLAN_REPORTS)));
  }
  if (claimed - next_ > SES_PLAN_REPORTS) { // more than can be: all slots are looked at below
    next_ = claimed;
    sweep_ = 0;
    swept_at_ = now;
  }
  for (; next_ != claimed && read < most; ++next_) {
    read += read_slot(next_ % SES_PLAN_REPORTS, now, reports) == Slot::kRead ? 1 : 0;
  }
  if (sweep_ >= touched_ && !swept_since_ && now - swept_at_ >= kSweepEvery) {
    sweep_ = 0;
    swept_at_ = now;
    swept_since_ = claimed == next_;
  }
  for (; sweep_ < touched_ && read < most; ++sweep_) {
    read += read_slot(sweep_, now, reports) == Slot::kRead ? 1 : 0;
  }
  return reports;
}

} // namespace ses::agent
