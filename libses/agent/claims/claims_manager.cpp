#include "claims/claims_manager.h"

#include <spdlog/spdlog.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <thread>

#include "claims/lookup.h"

namespace ses::agent {
namespace {

using std::chrono::milliseconds;

constexpr milliseconds kBusyTick{5};
constexpr milliseconds kUnfinishedTick{20};
constexpr milliseconds kBusyFor{20}; // after the last claim
constexpr int kRings = 16;           // looks in a row that programs wake, and then one each tick
constexpr std::chrono::seconds kUnfinishedFor{5}; // a create takes no longer, as a rule
constexpr milliseconds kBeatEvery{500};
constexpr milliseconds kReviewEvery{1000};
constexpr std::chrono::seconds kStays{10};          // after the last process of a user
constexpr std::chrono::minutes kServiceStays{10};   // of a uid below kFirstPerson
constexpr std::chrono::seconds kWithoutSegment{10}; // then it is tried again
constexpr milliseconds kStopTick{5};
constexpr uid_t kFirstPerson = 1000;
constexpr size_t kMaxUsers = 4096;
constexpr size_t kMaxClaims = 1024; // of a user, at a look

uint64_t in_ms(ClaimsManager::Time time) {
  return static_cast<uint64_t>(
      std::chrono::duration_cast<milliseconds>(time.time_since_epoch()).count());
}

} // namespace

void ClaimsManager::adopt(Time now) {
  for (const TablePublisher::User &left : parts_.table.publisher().users()) {
    auto segment = ClaimsSegment::take_over(left.segment, left.uid, left.instance);
    if (!segment) {
      parts_.table.publisher().remove_user(left.uid);
      continue;
    }
    User &user = users_[left.uid];
    user.seen_at = now;
    user.claims = std::make_unique<UserClaims>(left.uid, std::move(segment));
    spdlog::debug("uid {} has claims, left by an agent before", left.uid);
  }
  has_changes_ = true;
  tick(now);
}

void ClaimsManager::apply_saved(SavedNeeds needs) {
  saved_ = std::move(needs.users);
  site_needs_ = std::move(needs.site);
}

void ClaimsManager::apply(const ServiceUpdate &update, Time now) {
  if (update.site_needs) {
    site_needs_ = update.site_needs;
  }
  for (const auto &[uid, needs] : update.needs) {
    const auto known = users_.find(uid);
    if (known == users_.end()) {
      saved_[uid] = needs;
      continue;
    }
    User &user = known->second;
    user.needs_before = std::exchange(user.needs, needs);
    publish_needs(user);
  }
  if (generation_ != parts_.table.generation()) {
    review(now);
  }
}

void ClaimsManager::publish_needs(User &user) {
  if (user.claims && user.needs) {
    user.claims->needs_publisher().publish(*user.needs);
  }
}

void ClaimsManager::asked(uid_t uid, Time now) {
  const bool servable = geteuid() == 0 || uid == geteuid();
  if (!servable || (!users_.contains(uid) && users_.size() >= kMaxUsers)) {
    return;
  }
  User &user = users_[uid];
  user.seen_at = now;
  if (!user.claims) {
    open(uid, user, now);
  } else if (user.claims->ring().expects_more()) {
    (void)read(user, now); // it may ask because of what it met
  }
}

std::shared_ptr<const UserNeeds> ClaimsManager::needs_of(uid_t uid) const {
  const auto user = users_.find(uid);
  return user == users_.end() ? nullptr : user->second.needs;
}

void ClaimsManager::open(uid_t uid, User &user, Time now) {
  if (const auto saved = saved_.find(uid); saved != saved_.end()) {
    user.needs = user.needs ? user.needs : saved->second;
    saved_.erase(saved);
  }
  parts_.announcer.user_seen(uid);
  parts_.stages.prepare(uid, now);
  if (user.claims || now < user.refused_until) {
    return;
  }
  user.refused_until = now + kWithoutSegment;
  std::string why;
  auto segment = ClaimsSegment::make(uid, why);
  if (!segment) {
    if (!std::exchange(logged_no_segment_, true)) {
      spdlog::warn("uid {} gets no claims, its programs ask over the socket ({})", uid, why);
    }
    return;
  }
  user.claims = std::make_unique<UserClaims>(uid, std::move(segment));
  show_staged(uid);
  publish_needs(user);
  ClaimsSegment &shared = user.claims->segment();
  if (!parts_.table.publisher().set_user({uid, shared.id(), shared.instance()})) {
    shared.retire();
    user.claims.reset();
    if (!std::exchange(logged_many_, true)) {
      spdlog::warn("{} users have claims; programs of others ask over the socket", SES_TABLE_USERS);
    }
    return;
  }
  user.refused_until = Time{};
  spdlog::debug("uid {} has claims", uid);
}

// Claims that are still open are lost; their files are placed all the same.
void ClaimsManager::close(uid_t uid, User &user) {
  if (user.claims) {
    parts_.table.publisher().remove_user(uid);
    user.claims->counts().clear([this](unsigned system, unsigned row, int change) {
      parts_.table.claim(system, row, change);
    });
    user.claims->segment().retire();
    user.claims.reset();
    spdlog::debug("uid {}: the claims are gone", uid);
  }
}

void ClaimsManager::take_survey(Time now) {
  const auto survey = parts_.survey.take();
  if (!survey) {
    return;
  }
  const auto see = [&](uid_t uid) {
    if ((uid >= kFirstPerson || geteuid() != 0) &&
        (users_.contains(uid) || users_.size() < kMaxUsers)) {
      users_[uid].seen_at = now;
    }
  };
  for (const uid_t uid : survey->with_processes) {
    see(uid);
  }
  for (const uid_t uid : survey->with_jobs) {
    see(uid);
  }
  has_changes_ = true;
}

// Who has claims, and where they can be staged.
void ClaimsManager::review(Time now) {
  reviewed_at_ = now;
  parts_.stages.announce_unusable(generation_ != parts_.table.generation());
  generation_ = parts_.table.generation();
  bool busy = false;
  for (auto it = users_.begin(); it != users_.end();) {
    auto &[uid, user] = *it;
    if (user.claims && user.claims->segment().is_lost()) {
      close(uid, user);
    }
    const bool has_programs = user.claims && user.claims->segment().has_programs();
    busy = busy || has_programs;
    if (has_programs) {
      user.seen_at = now;
    }
    const auto stays = uid < kFirstPerson ? Time::duration(kServiceStays) : Time::duration(kStays);
    if (now - user.seen_at > stays) {
      if (user.needs) {
        saved_[uid] = user.needs;
      }
      close(uid, user);
      parts_.stages.remove(uid);
      it = users_.erase(it);
      continue;
    }
    open(uid, user, now);
    show_staged(uid);
    ++it;
  }
  parts_.exchange.set_busy(busy);
  if (busy && !was_busy_) {
    parts_.announcer.announce_soon();
  }
  was_busy_ = busy;
  if (busy && !parts_.health.available()) { // programs that choose from the table do not ask
    (void)parts_.health.needed(parts_.announcer.pace());
  }
}

void ClaimsManager::take(User &user, Claim claim, Time now) {
  const uid_t uid = user.claims->uid();
  for (const uint8_t row : claim.rows) {
    user.claims->counts().settle(claim.system, row,
                                 [this](unsigned system, unsigned of, int change) {
                                   parts_.table.claim(system, of, change);
                                 });
  }
  const auto facts = parts_.table.facts(claim.system, claim.epoch);
  const bool known = facts && std::all_of(claim.rows.begin(), claim.rows.end(),
                                          [&](uint8_t row) { return row < facts->rows.size(); });
  if (known && claim.created) {
    const uint64_t id = ses_claims_id(user.claims->segment().instance(), claim.number);
    parts_.files.take({uid, id, user.needs, user.needs_before}, facts, std::move(claim), now);
  } else if (known && is_of_element(claim.error)) {
    failed(uid, facts->rows[claim.rows.front()].target, claim.error, now);
  }
}

void ClaimsManager::failed(uid_t uid, const std::string &target, int error, Time now) {
  parts_.stages.failed(uid, target, error, now);
  show_staged(uid);
}

void ClaimsManager::stage_again(const std::string &target, Time now) {
  spdlog::debug("the staging directory of branch {} was moved or removed", target);
  for (const auto &[uid, user] : users_) {
    parts_.stages.prepare_again(uid, target, now, false);
    show_staged(uid);
  }
}

void ClaimsManager::staged(const std::vector<Stager::Result> &results, Time now) {
  for (const Stager::Result &result : results) {
    parts_.stages.take(result, now);
    show_staged(result.uid);
  }
}

void ClaimsManager::show_staged(uid_t uid) {
  const auto user = users_.find(uid);
  if (user == users_.end() || !user->second.claims) {
    return;
  }
  for (const unsigned system : parts_.table.systems()) {
    bool is_final = true;
    user->second.claims->set_staged(system, ~parts_.stages.not_staged(uid, system, is_final));
  }
}

size_t ClaimsManager::read(User &user, Time now) {
  ClaimRing &ring = user.claims->ring();
  ClaimCounts &counts = user.claims->counts();
  const auto changed = [this](unsigned system, unsigned row, int change) {
    parts_.table.claim(system, row, change);
  };
  const auto look_at_counts = [&] {
    for (const unsigned system : parts_.table.systems()) {
      counts.look(system, parts_.table.rows(system), now, changed);
    }
  };
  look_at_counts();
  std::vector<Claim> claims = ring.read(kMaxClaims, now);
  const size_t read = claims.size();
  for (Claim &claim : claims) {
    take(user, std::move(claim), now);
  }
  for (unsigned i = ring.take_abandoned(); i > 0; --i) {
    counts.give_up_one(changed);
  }
  if (read == 0 && !ring.has_unfinished() && !ring.was_claimed()) {
    look_at_counts();
    if (!ring.was_claimed()) {
      counts.clear(changed);
    }
  }
  return read;
}

bool ClaimsManager::look(Time now) {
  std::vector<User *> active;
  bool has_read = false;
  for (auto &[uid, user] : users_) {
    if (user.claims && (user.claims->ring().expects_more() || user.claims->counts().any())) {
      has_read = has_read || user.claims->ring().was_claimed();
      active.push_back(&user);
    }
  }
  for (User *user : active) {
    has_read = read(*user, now) > 0 || has_read;
  }
  parts_.files.hand_on();
  parts_.table.show(now);
  for (User *user : active) {
    user->claims->counts().acknowledge();
  }
  return has_read;
}

void ClaimsManager::tick(Time now) {
  take_survey(now);
  if (std::exchange(has_changes_, false) || now - reviewed_at_ >= kReviewEvery) {
    review(now);
  }
  parts_.table.tick(now);
  if (now - beaten_at_ >= kBeatEvery) {
    beaten_at_ = now;
    parts_.table.publisher().beat(in_ms(now));
  }
  const bool was_armed = parts_.doorbell.is_armed();
  const bool was_rung = std::exchange(armed_, false) && !was_armed; // also without a claim
  const bool has_read = look(now);
  if (has_read) {
    busy_until_ = now + kBusyFor;
  }
  if (has_read || was_rung) {
    rings_until_ = std::max(rings_until_, now - kRings * kBusyTick) + kBusyTick;
  }
  if (parts_.polls) {
    due_ = now;
    return;
  }
  if (rings_until_ > now) {
    parts_.doorbell.disarm();
  } else {
    armed_ = true;
    if (!was_armed) {
      parts_.doorbell.arm();
    }
  }
  if (now < busy_until_ || !was_armed || !armed_) { // a last look follows when it is armed
    due_ = now + kBusyTick;
    return;
  }
  due_ = beaten_at_ + kBeatEvery;
  for (const auto &[uid, user] : users_) {
    if (user.claims && user.claims->ring().has_unfinished() &&
        now - user.claims->ring().unfinished_since() < kUnfinishedFor) {
      due_ = std::min(due_, now + kUnfinishedTick);
    }
  }
}

void ClaimsManager::stop(milliseconds limit) {
  parts_.table.retire();
  parts_.doorbell.stop();
  const auto end = Clock::now() + limit;
  const auto is_open = [](const auto &user) {
    return user.second.claims && user.second.claims->ring().has_unfinished();
  };
  for (bool is_last = false; !is_last;) {
    is_last = Clock::now() >= end; // also where this thread was kept from running until then
    look(Clock::now());
    if (std::none_of(users_.begin(), users_.end(), is_open)) {
      break;
    }
    std::this_thread::sleep_for(kStopTick);
  }
  bool left = false;
  for (auto &[uid, user] : users_) {
    left = left || is_open(std::pair<const uid_t, User &>(uid, user));
    if (!is_open(std::pair<const uid_t, User &>(uid, user))) {
      close(uid, user);
    }
  }
  if (!left) {
    parts_.table.remove();
  }
}

} // namespace ses::agent
