#include "plan_keeper.h"

#include <spdlog/spdlog.h>
#include <unistd.h>

#include <algorithm>
#include <random>
#include <thread>

namespace ses::agent {
namespace {

using std::chrono::milliseconds;

constexpr milliseconds kBusyTick{20}, kIdleTick{250}, kEmptyTick{1000};
constexpr milliseconds kBeatEvery{200};
constexpr milliseconds kReviewEvery{1000};
constexpr std::chrono::minutes kAskedLately{10};
constexpr std::chrono::seconds kStays{10};        // after the last process of a user
constexpr std::chrono::minutes kServiceStays{10}; // of a uid below kFirstPerson
constexpr std::chrono::seconds kWithoutSegment{60};
constexpr milliseconds kShortestIdleLife{5000}, kLongestIdleLife{60000};
constexpr milliseconds kLifePerEntry{50};     // at most twenty a second are renewed unused
constexpr std::chrono::seconds kToReport{25}; // lease beyond the life of a ticket
constexpr milliseconds kStopTick{5};
constexpr uid_t kFirstPerson = 1000;
constexpr size_t kMostPlans = 512;
constexpr size_t kMostUsers = 4096;
constexpr size_t kMostAsked = 64;                               // applications of a user
constexpr size_t kMostReportsOfUser = 512, kMostReports = 4096; // in one tick

uint64_t random_number() {
  std::random_device device;
  return (static_cast<uint64_t>(device()) << 32) | device();
}

uint64_t in_ms(Clock::time_point time) {
  return static_cast<uint64_t>(
      std::chrono::duration_cast<milliseconds>(time.time_since_epoch()).count());
}

} // namespace

PlanKeeper::PlanKeeper(const Parts &parts)
    : parts_(parts), socket_hash_(ses_plan_hash(parts.socket_path.c_str())),
      instance_(random_number()), outlet_(outlet()),
      lustre_changed_(std::make_shared<std::atomic<bool>>(false)) {
  parts_.booker.lustre().set_on_change([changed = lustre_changed_] { *changed = true; });
}

PlanUser::Outlet PlanKeeper::outlet() {
  return {
      [this](const TicketKey &key, unsigned count, bool ahead) { return book(key, count, ahead); },
      [this](uid_t uid, const Placement &placement, EndReason reason) {
        parts_.returns.give_back(uid, placement, reason);
      },
      [this](ReportedFile file) { parts_.finder.find(std::move(file)); },
      [this](dev_t device) -> std::optional<std::string> {
        StorageSystem system;
        const bool known = parts_.systems.find(device, system) == Systems::Answer::kManaged;
        return known ? std::optional(system.mount_point) : std::nullopt;
      },
  };
}

bool PlanKeeper::book(const TicketKey &key, unsigned count, bool ahead) {
  if ((!parts_.health.available() && !parts_.detached.ready(key.system)) ||
      parts_.announcer.overloaded_by(key.uid)) {
    return false;
  }
  BookingOrder order;
  order.key = key;
  order.count = count;
  order.for_plan = true;
  order.ahead = ahead;
  order.lease = std::chrono::ceil<std::chrono::seconds>(idle_life()) + kToReport;
  return parts_.booker.submit(std::move(order));
}

// The more nodes ask the service, the longer it lets them wait, and the longer is kept what nobody
// uses; also where there are so many entries that renewing them would keep the service busy.
milliseconds PlanKeeper::idle_life() const {
  const milliseconds life =
      std::max(parts_.announcer.pace(), kLifePerEntry * static_cast<int>(entries_));
  return std::clamp(life, kShortestIdleLife, kLongestIdleLife);
}

PlanUser *PlanKeeper::plan_of(uid_t uid) {
  const auto found = users_.find(uid);
  return found == users_.end() ? nullptr : found->second.plan.get();
}

void PlanKeeper::adopt() {
  const auto now = Clock::now();
  for (const uid_t uid : PlanSegment::left_behind(socket_hash_)) {
    Known &known = users_[uid];
    known.seen_at = now;
    open_plan(uid, known, now);
  }
  tick(now);
}

void PlanKeeper::set_applications(const Applications &applications) {
  const std::lock_guard lock(mutex_);
  applications_ = std::make_unique<Applications>(applications);
}

void PlanKeeper::requirements_changed(const std::vector<uid_t> &users) {
  const std::lock_guard lock(mutex_);
  changed_.insert(users.begin(), users.end());
}

void PlanKeeper::files_closed(const std::vector<uid_t> &users) {
  const std::lock_guard lock(mutex_);
  closed_.insert(users.begin(), users.end());
}

void PlanKeeper::asked(const TicketKey &key, Time now) {
  const bool servable = geteuid() == 0 || key.uid == geteuid();
  if (!servable || key.application.empty()) { // that would be the default entry
    return;
  }
  if (!users_.contains(key.uid) && users_.size() >= kMostUsers) {
    return;
  }
  Known &known = users_[key.uid];
  known.seen_at = now;
  const Asked about{key.application, key.system, key.requirements};
  const bool first = !known.asked.contains(about);
  if (first && known.asked.size() >= kMostAsked) {
    known.asked.erase(
        std::min_element(known.asked.begin(), known.asked.end(),
                         [](const auto &a, const auto &b) { return a.second < b.second; }));
  }
  known.asked[about] = now;
  if (!known.plan) {
    open_plan(key.uid, known, now);
  }
  if (first && known.plan) {
    known.plan->publish(wanted(known), now);
  }
  due_ = std::min(due_, now + kBusyTick);
}

std::optional<Placement> PlanKeeper::take(const TicketKey &key, Time now) {
  PlanUser *const plan = plan_of(key.uid);
  return plan == nullptr ? std::nullopt : plan->take(key, now);
}

bool PlanKeeper::put(const TicketKey &key, const Placement &placement, Time now) {
  PlanUser *const plan = plan_of(key.uid);
  return plan != nullptr && plan->put(key, placement, now);
}

void PlanKeeper::created(dev_t device, const std::string &path) {
  StorageSystem system;
  if (parts_.systems.find(device, system) == Systems::Answer::kManaged) {
    parts_.finder.learn(system.mount_point, path);
  }
}

void PlanKeeper::booked(BookingResult result, Time now) {
  if (PlanUser *const plan = plan_of(result.key.uid)) {
    std::erase_if(result.placements, [&](const Placement &placement) { // since it was booked
      const bool gone = has_trouble(result.key.system, placement);
      if (gone) {
        parts_.returns.give_back(result.key.uid, placement, EndReason::kUnused);
      }
      return gone;
    });
    plan->booked(result.key, result.outcome, std::move(result.placements),
                 std::move(result.requirements), result.ordered, now);
    return;
  }
  for (const Placement &placement : result.placements) {
    parts_.returns.give_back(result.key.uid, placement, EndReason::kUnused);
  }
}

void PlanKeeper::unusable(const std::string &element, Time now) {
  withdraw([&](const std::string &, const Placement &one) { return one.element == element; }, now);
}

void PlanKeeper::withdraw(const Unusable &is_unusable, Time now) {
  for (auto &[uid, known] : users_) {
    if (known.plan) {
      known.plan->withdraw_unusable(is_unusable, now);
    }
  }
}

bool PlanKeeper::has_trouble(const std::string &system, const Placement &placement) const {
  return placement.backend == SES_BACKEND_LUSTRE &&
         !parts_.booker.lustre().trouble_of(system, placement).empty();
}

void PlanKeeper::open_plan(uid_t uid, Known &known, Time now) {
  if (now < known.refused_until) {
    return;
  }
  known.refused_until = now + kWithoutSegment;
  if (plans_ >= kMostPlans) {
    if (!std::exchange(said_many_, true)) {
      spdlog::warn("{} users have plans; programs of others ask over the socket", plans_);
    }
    return;
  }
  std::string why;
  auto segment = PlanSegment::open(socket_hash_, uid, instance_, why);
  if (!segment) {
    if (!std::exchange(said_no_segment_, true)) {
      spdlog::warn("uid {} gets no plan, its programs ask over the socket ({})", uid, why);
    }
    return;
  }
  known.refused_until = Time{};
  spdlog::debug("uid {} has a plan{}", uid, segment->was_left() ? ", left by an agent before" : "");
  segment->beat(in_ms(now));
  known.plan = std::make_unique<PlanUser>(uid, std::move(segment), outlet_, now);
  ++plans_;
}

// Programs that took tickets have still to report; the plan is watched until they have.
void PlanKeeper::leave(Known &known, Time now, bool removed) {
  known.plan->withdraw_all(now);
  known.plan->segment().retire();
  spdlog::debug("uid {}: the plan is {}", known.plan->uid(), removed ? "gone" : "removed");
  leaving_.push_back(std::move(known.plan));
  --plans_;
}

void PlanKeeper::take_news(Time now) {
  std::unique_ptr<Applications> applications;
  std::set<uid_t> changed;
  std::set<uid_t> closed;
  {
    const std::lock_guard lock(mutex_);
    applications = std::move(applications_);
    changed.swap(changed_);
    closed.swap(closed_);
  }
  for (const uid_t uid : closed) {
    if (PlanUser *const plan = plan_of(uid)) {
      plan->refresh(now);
    }
  }
  for (const uid_t uid : changed) {
    if (PlanUser *const plan = plan_of(uid)) {
      plan->renew(now);
    }
  }
  if (applications) {
    for (auto &[uid, names] : *applications) {
      if (const auto found = users_.find(uid); found != users_.end()) {
        found->second.applications = std::move(names);
        has_news_ = true;
      }
    }
  }
  const auto users = parts_.survey.take();
  if (!users) {
    return;
  }
  for (auto &[uid, known] : users_) {
    known.of_jobs.clear();
    if (uid < kFirstPerson && geteuid() == 0) {
      continue; // the system's own processes are always there
    }
    if (users->with_processes.contains(uid)) {
      known.seen_at = now;
    }
  }
  for (const uid_t uid : users->with_processes) {
    if (uid >= kFirstPerson || geteuid() != 0) {
      users_[uid].seen_at = now;
    }
  }
  for (const auto &[uid, applications_of_jobs] : users->with_jobs) {
    users_[uid].seen_at = now;
    users_[uid].of_jobs = applications_of_jobs;
  }
  has_news_ = true;
}

std::vector<PlanEntry> PlanKeeper::wanted(const Known &known) const {
  std::set<std::string> needed = known.of_jobs;
  if (known.applications) {
    needed.insert(known.applications->begin(), known.applications->end());
  }
  std::vector<Asked> asked;
  for (const auto &[about, when] : known.asked) {
    asked.push_back(about);
  }
  return entries_for(parts_.systems.all_mounted(), needed, known.applications.has_value(), asked);
}

// Who has a plan, and what is in it.
void PlanKeeper::review(Time now) {
  reviewed_at_ = now;
  size_t entries = 0;
  for (auto it = users_.begin(); it != users_.end();) {
    auto &[uid, known] = *it;
    if (known.plan && known.plan->segment().is_removed()) {
      leave(known, now, true);
    }
    if (known.plan && known.plan->in_use(now)) {
      known.seen_at = now;
    }
    const bool system_user = uid < kFirstPerson;
    const auto stays = system_user ? Clock::duration(kServiceStays) : Clock::duration(kStays);
    if (now - known.seen_at > stays) {
      if (known.plan) {
        leave(known, now, false);
      }
      it = users_.erase(it);
      continue;
    }
    std::erase_if(known.asked, [&](const auto &one) { return now - one.second > kAskedLately; });
    if (!known.plan) {
      open_plan(uid, known, now);
    }
    if (known.plan) {
      parts_.announcer.user_seen(uid);
      known.plan->publish(wanted(known), now);
      entries += known.plan->entries();
    }
    ++it;
  }
  entries_ = entries;
}

void PlanKeeper::look_at_plans(Time now) {
  const bool all = now - looked_at_all_at_ >= kIdleTick;
  looked_at_all_at_ = all ? now : looked_at_all_at_;
  std::vector<PlanUser *> turns;
  for (auto &[uid, known] : users_) {
    if (known.plan && (all || known.plan->is_busy(now))) {
      turns.push_back(known.plan.get());
    }
  }
  const auto first = std::find_if(turns.begin(), turns.end(),
                                  [&](const PlanUser *plan) { return plan->uid() > last_turn_; });
  std::rotate(turns.begin(), first, turns.end());
  for (const auto &plan : leaving_) {
    turns.push_back(plan.get());
  }
  size_t budget = kMostReports;
  for (PlanUser *const plan : turns) {
    budget -= plan->read_reports(std::min(budget, kMostReportsOfUser), now);
    last_turn_ = plan->uid();
    if (budget == 0) {
      break;
    }
  }
  for (PlanUser *const plan : turns) {
    plan->stock(now, idle_life());
  }
  std::erase_if(leaving_, [](const auto &plan) { return plan->has_nothing_out(); });
}

void PlanKeeper::tick(Time now) {
  take_news(now);
  if (lustre_changed_->exchange(false)) {
    withdraw([this](const auto &system, const auto &one) { return has_trouble(system, one); }, now);
  }
  if (std::exchange(has_news_, false) || now - reviewed_at_ >= kReviewEvery) {
    review(now);
  }
  if (now - beaten_at_ >= kBeatEvery) {
    beaten_at_ = now;
    for (auto &[uid, known] : users_) {
      if (known.plan) {
        known.plan->segment().beat(in_ms(now));
      }
    }
  }
  look_at_plans(now);
  bool busy = !leaving_.empty();
  for (const auto &[uid, known] : users_) {
    busy = busy || (known.plan && known.plan->is_busy(now));
  }
  if (busy && !parts_.health.available()) { // whoever has tickets does not ask
    (void)parts_.health.needed(parts_.announcer.pace());
  }
  due_ = now + (busy ? kBusyTick : plans_ > 0 ? kBeatEvery : kEmptyTick);
}

void PlanKeeper::stop(milliseconds limit) {
  const auto end = Clock::now() + limit;
  std::vector<PlanUser *> plans;
  for (auto &[uid, known] : users_) {
    if (known.plan) {
      known.plan->withdraw_all(Clock::now());
      plans.push_back(known.plan.get());
    }
  }
  for (bool all_back = false; !all_back;) {
    all_back = true;
    const auto now = Clock::now();
    for (PlanUser *const plan : plans) {
      while (plan->read_reports(kMostReports, now) == kMostReports) {
      }
      all_back = all_back && plan->has_nothing_out();
    }
    if (now >= end) {
      break;
    }
    if (!all_back) {
      std::this_thread::sleep_for(kStopTick);
    }
  }
  for (PlanUser *const plan : plans) {
    if (plan->has_nothing_out() || !plan->awaits_report()) {
      plan->segment().retire();
    } else {
      plan->segment().beat(0);
    }
  }
}

} // namespace ses::agent
