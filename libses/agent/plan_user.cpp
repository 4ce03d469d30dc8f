#include "plan_user.h"

#include <spdlog/spdlog.h>

#include <algorithm>

#include "returns.h"

namespace ses::agent {
namespace {

using std::chrono::milliseconds;

constexpr milliseconds kLife{5000};        // of a ticket in an entry that is used
constexpr milliseconds kRenewBefore{1000}; // its end
constexpr std::chrono::seconds kReportWithin{20};
constexpr std::chrono::seconds kStrangersFor{120};
constexpr std::chrono::seconds kBusyFor{2};
constexpr milliseconds kShortestPause{1000}, kLongestPause{30000}; // after a refusal
constexpr milliseconds kShortestDistrust{5000}, kLongestDistrust{600000};
constexpr int64_t kSpread = 1024;
constexpr size_t kMostDealt = 4096;
constexpr size_t kMostStrangers = 65536;
constexpr unsigned kLargestBooking = 1024;
constexpr unsigned kFewTickets = 2;    // as many are held ahead of need
constexpr unsigned kMostRefreshed = 8; // who takes more has files open beside each other
constexpr milliseconds kRefreshEvery{100};
constexpr size_t kEntriesRefreshed = 8; // at once

uint64_t in_ms(PlanUser::Time time) {
  return static_cast<uint64_t>(
      std::chrono::duration_cast<milliseconds>(time.time_since_epoch()).count());
}

uint64_t mixed(uint64_t id) { return (id * 0x9e3779b97f4a7c15u) >> 32; }

} // namespace

PlanUser::PlanUser(uid_t uid, std::unique_ptr<PlanSegment> segment, const Outlet &outlet, Time now)
    : uid_(uid), segment_(std::move(segment)), outlet_(outlet), board_(segment_->plan()),
      ring_(segment_->plan()) {
  if (segment_->was_left()) {
    strangers_until_ = now + kStrangersFor;
  }
}

std::optional<unsigned> PlanUser::entry_of(const TicketKey &key) const {
  if (key.expected_bytes) { // no entry is about that
    return std::nullopt;
  }
  const auto found = number_of_.find({key.application, key.system, key.requirements});
  return found == number_of_.end() ? std::nullopt : std::optional(found->second);
}

TicketKey PlanUser::key_of(const Entry &entry) const {
  TicketKey key;
  key.uid = uid_;
  key.application = entry.about.application;
  key.system = entry.about.system;
  key.requirements = entry.about.requirements;
  return key;
}

void PlanUser::publish(const std::vector<PlanEntry> &wanted, Time now) {
  std::map<Asked, const PlanEntry *> still;
  for (const PlanEntry &one : wanted) {
    still.emplace(subject_of(one), &one);
  }
  for (auto it = entries_.begin(); it != entries_.end();) {
    const Asked key = subject_of(it->second.about);
    const auto found = still.find(key);
    if (found != still.end() && found->second->device == it->second.about.device) {
      ++it;
      continue;
    }
    give_back(withdraw(it->first, SES_PLAN_TICKETS, now), EndReason::kUnused);
    board_.blank(it->first);
    number_of_.erase(key);
    it = entries_.erase(it);
  }
  for (const PlanEntry &one : wanted) {
    const Asked key = subject_of(one);
    if (number_of_.contains(key)) {
      continue;
    }
    if (const auto number = board_.publish(one.application, one.requirements, one.device)) {
      number_of_[key] = *number;
      entries_[*number].about = one;
    }
  }
}

size_t PlanUser::read_reports(size_t most, Time now) {
  if (!ring_.expects_more()) {
    return 0;
  }
  std::vector<PlanReport> reports = ring_.read(most, now);
  if (!reports.empty()) {
    busy_until_ = now + kBusyFor;
  }
  const size_t count = reports.size();
  for (PlanReport &report : reports) {
    on_report(std::move(report), now);
  }
  return count;
}

void PlanUser::on_report(PlanReport report, Time now) {
  const auto found = dealt_.find(report.placement_id);
  if (found == dealt_.end()) {
    if (now < strangers_until_ && report.created) {
      on_stranger(std::move(report));
    }
    return;
  }
  Dealt dealt = std::move(found->second);
  dealt_.erase(found);
  const bool failed = is_of_element(report.error);
  if (!report.created) {
    outlet_.give_back(uid_, dealt.placement, failed ? EndReason::kFailed : EndReason::kUnused);
  } else if (report.file.device != dealt.device) {
    spdlog::debug("uid {} reported a file on another device than its ticket was for", uid_);
    outlet_.give_back(uid_, dealt.placement, EndReason::kFailed);
  } else {
    outlet_.created({uid_, std::move(dealt.placement), dealt.device, std::move(dealt.mount_point),
                     std::move(report)});
  }
}

// A ticket that an agent before this one dealt: whose it is, the service knows.
void PlanUser::on_stranger(PlanReport report) {
  const auto mount_point = outlet_.mount_point_of(report.file.device);
  if (strangers_.size() >= kMostStrangers || !strangers_.insert(report.placement_id).second) {
    return;
  }
  ReportedFile file;
  file.uid = uid_;
  file.placement.id = report.placement_id;
  file.device = report.file.device;
  file.mount_point = mount_point.value_or("");
  file.report = std::move(report);
  outlet_.created(std::move(file));
}

void PlanUser::note_taken(const std::vector<uint64_t> &ids, Time now) {
  for (const uint64_t id : ids) {
    taken_.emplace_back(now + kReportWithin, id);
  }
  if (!ids.empty()) {
    busy_until_ = now + kBusyFor;
  }
}

std::vector<Placement> PlanUser::withdraw(unsigned number, size_t most, Time now) {
  std::vector<uint64_t> taken;
  std::vector<Placement> placements;
  for (const uint64_t id : board_.withdraw(number, most, taken)) {
    if (auto node = dealt_.extract(id)) {
      placements.push_back(std::move(node.mapped().placement));
    }
  }
  note_taken(taken, now);
  return placements;
}

void PlanUser::give_back(const std::vector<Placement> &placements, EndReason reason) {
  for (const Placement &placement : placements) {
    outlet_.give_back(uid_, placement, reason);
  }
}

void PlanUser::stock(Time now, milliseconds idle_life) {
  life_ = std::max(idle_life, kLife);
  for (auto &[number, entry] : entries_) {
    const PlanBoard::Look look = board_.look(number);
    if (look.wiped) {
      distrust_ = std::clamp(distrust_ * 2, kShortestDistrust, kLongestDistrust);
      distrusted_until_ = now + distrust_;
      spdlog::debug("uid {} wrote into its plan what does not belong there; for {} s it gets no "
                    "tickets there",
                    uid_, std::chrono::ceil<std::chrono::seconds>(distrust_).count());
    }
    note_taken(look.taken, now);
    if (look.missed > 0) {
      busy_until_ = now + kBusyFor;
    }
    entry.demand.update(look.taken.size(), look.missed, now);
    const size_t stock = board_.stock(number);
    size_t surplus = board_.due(number, in_ms(now + kRenewBefore / 2));
    if (stock > std::max(2 * entry.demand.level(), kFewTickets)) {
      surplus = std::max<size_t>(surplus, stock - entry.demand.level());
    }
    if (surplus > 0) {
      give_back(withdraw(number, surplus, now), EndReason::kUnused);
    }
    if (now >= distrusted_until_) {
      restock(number, entry, now);
    }
  }
  while (!taken_.empty() && taken_.front().first <= now) {
    if (auto node = dealt_.extract(taken_.front().second)) {
      outlet_.give_back(uid_, node.mapped().placement, EndReason::kUnused);
    }
    taken_.pop_front();
  }
}

void PlanUser::restock(unsigned number, Entry &entry, Time now) {
  const size_t level = entry.demand.level();
  const size_t lasting = board_.stock(number) - board_.due(number, in_ms(now + kRenewBefore));
  const bool replace =
      entry.refresh && entry.ordered == 0 && now - entry.refreshed_at >= kRefreshEvery;
  const size_t held = replace ? 0 : lasting + entry.ordered - entry.out_of_date;
  if (held > level / 2 || now < entry.not_before || dealt_.size() >= kMostDealt) {
    return;
  }
  const auto count = static_cast<unsigned>(std::min<size_t>(level - held, kLargestBooking));
  if (outlet_.book(key_of(entry), count, count <= kFewTickets)) {
    entry.ordered += count;
    if (replace) {
      entry.replacing = true;
      entry.refresh = false;
      entry.refreshed_at = now;
    }
  }
}

void PlanUser::booked(const TicketKey &key, Booking outcome, std::vector<Placement> placements,
                      std::optional<std::vector<Requirement>> requirements, unsigned ordered,
                      Time now) {
  const auto number = entry_of(key);
  if (!number) {
    give_back(placements, EndReason::kUnused);
    return;
  }
  Entry &entry = entries_[*number];
  entry.ordered -= std::min(entry.ordered, ordered);
  if (entry.out_of_date > 0) {
    entry.out_of_date -= std::min(entry.out_of_date, ordered);
    give_back(placements, EndReason::kUnused);
    return;
  }
  if (std::exchange(entry.replacing, false) && outcome == Booking::kBooked) {
    give_back(withdraw(*number, SES_PLAN_TICKETS, now), EndReason::kUnused);
  }
  if (outcome == Booking::kBooked) {
    entry.pause = milliseconds(0);
  } else {
    entry.pause = std::clamp(entry.pause * 2, kShortestPause, kLongestPause);
    entry.not_before = now + entry.pause;
  }
  if (requirements) {
    if (entry.requirements && *entry.requirements != *requirements) {
      give_back(withdraw(*number, SES_PLAN_TICKETS, now), EndReason::kUnused);
    }
    entry.requirements = std::move(requirements);
  }
  for (const Placement &placement : placements) {
    if (!fill(*number, placement, now)) {
      outlet_.give_back(uid_, placement, EndReason::kUnused);
    }
  }
}

bool PlanUser::fill(unsigned number, const Placement &placement, Time now) {
  const Entry &entry = entries_.at(number);
  // Not all at once: what was booked together is renewed one after the other.
  const auto spread = 3 * kSpread + static_cast<int64_t>(mixed(placement.id) % kSpread);
  const milliseconds life = entry.demand.in_use(now) ? kLife : life_ * spread / (4 * kSpread);
  if (dealt_.contains(placement.id) || !board_.fill(number, placement, in_ms(now + life))) {
    return false;
  }
  dealt_.emplace(placement.id,
                 Dealt{placement, number, entry.about.device, entry.about.mount_point});
  return true;
}

std::optional<Placement> PlanUser::take(const TicketKey &key, Time now) {
  const auto number = entry_of(key);
  if (!number || board_.stock(*number) == 0) {
    return std::nullopt;
  }
  std::vector<Placement> placements = withdraw(*number, 1, now);
  return placements.empty() ? std::nullopt : std::optional(std::move(placements.front()));
}

bool PlanUser::put(const TicketKey &key, const Placement &placement, Time now) {
  const auto number = entry_of(key);
  if (!number || now < distrusted_until_) {
    return false;
  }
  const size_t level = entries_.at(*number).demand.level();
  if (level <= kFewTickets) {
    // What is held ahead of need is no stream to the service; this one is, and nobody waits for it.
    outlet_.give_back(uid_, placement, EndReason::kUnused);
    return true;
  }
  return board_.stock(*number) < 2 * level && fill(*number, placement, now);
}

void PlanUser::withdraw_unusable(
    const std::function<bool(const std::string &, const Placement &)> &is_unusable, Time now) {
  std::set<unsigned> concerned;
  for (const auto &[id, dealt] : dealt_) {
    const auto entry = entries_.find(dealt.entry);
    if (entry != entries_.end() && is_unusable(entry->second.about.system, dealt.placement)) {
      concerned.insert(dealt.entry);
    }
  }
  for (const unsigned number : concerned) {
    const std::string &system = entries_.at(number).about.system;
    for (const Placement &placement : withdraw(number, SES_PLAN_TICKETS, now)) {
      if (is_unusable(system, placement) || !fill(number, placement, now)) {
        outlet_.give_back(uid_, placement, EndReason::kUnused);
      }
    }
  }
}

void PlanUser::refresh(Time now) {
  size_t left = kEntriesRefreshed;
  for (const bool in_use : {true, false}) {
    for (auto &[number, entry] : entries_) {
      if (left == 0) {
        return;
      }
      if (entry.demand.in_use(now) == in_use && entry.demand.level() <= kMostRefreshed &&
          !entry.refresh && board_.stock(number) + entry.ordered > 0) {
        entry.refresh = true;
        busy_until_ = now + kBusyFor;
        --left;
      }
    }
  }
}

void PlanUser::renew(Time now) {
  for (auto &[number, entry] : entries_) {
    give_back(withdraw(number, SES_PLAN_TICKETS, now), EndReason::kUnused);
    entry.out_of_date = entry.ordered;
    entry.requirements.reset();
    entry.not_before = Time{};
    entry.pause = milliseconds(0);
  }
  busy_until_ = now + kBusyFor;
}

void PlanUser::withdraw_all(Time now) {
  publish({}, now);
  busy_until_ = now + kBusyFor;
}

bool PlanUser::in_use(Time now) const {
  return std::any_of(entries_.begin(), entries_.end(),
                     [&](const auto &entry) { return entry.second.demand.in_use(now); });
}

bool PlanUser::is_busy(Time now) const { return now < busy_until_ || ring_.was_claimed(); }

} // namespace ses::agent
