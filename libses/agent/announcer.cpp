#include "announcer.h"

#include <spdlog/spdlog.h>

#include <algorithm>
#include <set>

#include "service_messages.h"
#include "wire.h"

namespace ses::agent {
namespace {

constexpr size_t kLargestBatch = 2000; // the contract's, as the next
constexpr size_t kMostUsers = 1000;
constexpr std::chrono::milliseconds kCollect{200}; // one request in this time, on average
constexpr int kAtOnce = 4; // as many without collecting, after a quiet while: few files, soon known
constexpr std::chrono::milliseconds kLookAgain{1000}; // whether the service is back
constexpr std::chrono::milliseconds kAfterFault{500};
constexpr std::chrono::milliseconds kUnhurried{5000}; // pace of a service with few nodes
constexpr std::chrono::hours kUserLife{1};
constexpr std::chrono::minutes kIdleSnapshot{5}; // renewed this often even if nobody creates files
constexpr unsigned kSnapshotElements = 64;
constexpr unsigned kMostAttempts = 3;

std::string random_digits() {
  std::random_device device;
  return format_id((static_cast<uint64_t>(device()) << 32) | device());
}

std::chrono::milliseconds part_of(std::chrono::milliseconds whole, double least,
                                  std::minstd_rand &random) {
  std::uniform_real_distribution<double> share(least, 1.0);
  return std::chrono::milliseconds(
      static_cast<int64_t>(static_cast<double>(whole.count()) * share(random)));
}

std::vector<uid_t> users_of_closed(const AnnouncementBook::Batch &batch) {
  std::set<uid_t> users;
  for (const auto &ending : batch.ended) {
    if (ending.file.reason == EndReason::kClosed || ending.file.reason == EndReason::kExited) {
      users.insert(ending.uid);
    }
  }
  return {users.begin(), users.end()};
}

} // namespace

Announcer::Announcer(Service service)
    : service_(service), client_(service.services, service.token, service.ca_file),
      incarnation_(random_digits()), batch_limit_(kLargestBatch) {}

Announcer::~Announcer() { stop(std::chrono::milliseconds(0)); }

void Announcer::start(Listeners listeners) {
  listeners_ = std::move(listeners);
  thread_ = std::thread([this] { work(); });
}

void Announcer::stop(std::chrono::milliseconds limit) {
  {
    const std::lock_guard lock(mutex_);
    if (!stopping_) {
      stopping_ = true;
      stop_by_ = Clock::now() + limit;
    }
  }
  wake_.notify_all();
  if (thread_.joinable()) {
    thread_.join();
    if (const size_t waiting = book_.waiting(); waiting > 0) {
      spdlog::warn("{} reports were not sent; the service learns of them from the next agent here, "
                   "or from this node's silence",
                   waiting);
    }
  }
}

void Announcer::opened(uid_t uid, OpenedFile file) {
  {
    const std::lock_guard lock(mutex_);
    book_.opened(uid, std::move(file));
  }
  wake_.notify_one();
}

void Announcer::ended(uid_t uid, uint64_t placement_id, EndReason reason,
                      std::optional<uint64_t> bytes_written, std::string path) {
  spdlog::debug("placement {} of uid {} ended: {}", format_id(placement_id), uid, name_of(reason));
  {
    const std::lock_guard lock(mutex_);
    if (!book_.ended(uid, {placement_id, reason, bytes_written, std::move(path)})) {
      complete_due_ = true; // then what is not listed has ended
    }
  }
  wake_.notify_one();
}

void Announcer::unused(uid_t uid, const std::vector<uint64_t> &placement_ids) {
  for (const uint64_t id : placement_ids) {
    ended(uid, id, EndReason::kUnused);
  }
}

void Announcer::compared() {
  {
    const std::lock_guard lock(mutex_);
    comparing_ = false;
  }
  wake_.notify_one();
}

void Announcer::user_seen(uid_t uid) {
  {
    const std::lock_guard lock(mutex_);
    const auto [user, first] = users_.try_emplace(uid);
    user->second = Clock::now();
    if (!first) {
      return;
    }
    heartbeat_at_ = Clock::now();
  }
  wake_.notify_one();
}

void Announcer::service_found() {
  {
    const std::lock_guard lock(mutex_);
    heartbeat_at_ = Clock::now();
    batch_limit_ = kLargestBatch;
  }
  wake_.notify_one();
}

bool Announcer::overloaded_by(uid_t uid) const {
  const std::lock_guard lock(mutex_);
  return book_.crowded_by(uid);
}

std::chrono::milliseconds Announcer::pace() const {
  const std::lock_guard lock(mutex_);
  return pace_;
}

void Announcer::work() {
  Lock lock(mutex_);
  for (;;) {
    const auto now = Clock::now();
    if (stopping_ && (book_.waiting() == 0 || now >= stop_by_ || !service_.health.available())) {
      return;
    }
    if (!service_.health.available()) {
      wake_.wait_for(lock, kLookAgain);
    } else if (const auto next = next_send(); next > now) {
      wake_.wait_until(lock, next);
    } else {
      send(lock, next_batch());
    }
  }
}

Clock::time_point Announcer::next_send() const {
  auto next = heartbeat_at_;
  if (book_.waiting() > 0 || (complete_due_ && !comparing_)) {
    const bool now = stopping_ || book_.waiting() >= batch_limit_;
    next = std::min(next, now ? sent_at_ : spent_until_ - kAtOnce * kCollect);
  }
  return std::max(next, not_before_);
}

Announcer::Batch Announcer::next_batch() {
  if (complete_due_ && !comparing_ && !stopping_) {
    if (auto all = book_.take_all(batch_limit_)) {
      complete_due_ = false;
      return std::move(*all);
    }
    if (book_.open() > batch_limit_ / 2) { // never fits: one by one then
      complete_due_ = false;
      book_.tell_all_again();
    }
  }
  return book_.take(batch_limit_);
}

void Announcer::send(Lock &lock, Batch batch) {
  const auto now = Clock::now();
  std::vector<uid_t> users;
  for (auto user = users_.begin(); user != users_.end();) {
    if (now - user->second > kUserLife) {
      user = users_.erase(user);
    } else {
      users.push_back((user++)->first);
    }
  }
  users.resize(std::min(users.size(), kMostUsers));
  const std::chrono::milliseconds renew = users.empty() ? kIdleSnapshot : pace_;
  const bool with_snapshot = !snapshot_at_ || now - *snapshot_at_ >= renew;
  sent_at_ = now;
  spent_until_ = std::max(spent_until_, now) + kCollect;
  lock.unlock();
  const Announcement announcement = announcement_of(batch, users, with_snapshot);
  const Reply reply =
      client_.request("POST", announcement_path(service_.node), announcement_body(announcement));
  auto parsed = reply.status == 200 ? parse_announcement_reply(reply.body) : std::nullopt;
  lock.lock();
  if (!parsed) {
    failed(std::move(batch), reply);
    return;
  }
  settle(lock, batch, std::move(*parsed));
}

Announcement Announcer::announcement_of(const Batch &batch, const std::vector<uid_t> &users,
                                        bool with_snapshot) {
  Announcement announcement;
  announcement.incarnation = incarnation_;
  announcement.complete = batch.complete;
  announcement.snapshot = with_snapshot ? kSnapshotElements : 0;
  for (const auto &opening : batch.opened) {
    announcement.opened.push_back({&opening.file, names_.name_of(opening.uid), opening.restore});
  }
  for (const auto &ending : batch.ended) {
    announcement.ended.push_back(ending.file);
  }
  uid_of_.clear();
  for (const uid_t uid : users) {
    announcement.users.push_back(names_.name_of(uid));
    uid_of_[announcement.users.back()] = uid;
  }
  return announcement;
}

// Puts BATCH back, unless it is the smallest that the service breaks at, again and again.
void Announcer::failed(Batch batch, const Reply &reply) {
  const size_t size = batch.size();
  complete_due_ = complete_due_ || batch.complete;
  if (reply.status == 404 || reply.status == 405) {
    if (!std::exchange(said_no_announcements_, true)) {
      spdlog::warn("the service takes no announcements for node {} (HTTP {} {}): it does not learn "
                   "which files are open here; use one of the agent's version",
                   service_.node, reply.status, problem_detail(reply.body));
    }
    heartbeat_at_ = Clock::now() + pace_;
    book_.drop(batch);
    return;
  }
  // The service books and does not get through this: there is too much of it.
  const bool too_long = reply.timed_out && size > 1 && service_.health.worked_since(reply.sent_at);
  const bool broken_by_it =
      too_long || (reply.status >= 400 && reply.status != 401 && reply.status != 403 &&
                   reply.status != 429 && reply.status != 503);
  if (!broken_by_it || size == 0) {
    book_.put_back(std::move(batch));
    const std::string cause = failure_of(reply);
    service_.health.failed(cause.empty() ? "its answer to an announcement is not one" : cause,
                           reply);
    return;
  }
  not_before_ = Clock::now() + part_of(kAfterFault, 0, random_);
  if (size > 1 || ++attempts_ < kMostAttempts) {
    spdlog::debug("an announcement of {} files failed: {}", size,
                  too_long
                      ? reply.error
                      : "HTTP " + std::to_string(reply.status) + " " + problem_detail(reply.body));
    batch_limit_ = std::max<size_t>(size / 2, 1);
    book_.put_back(std::move(batch));
    return;
  }
  spdlog::warn("the service refuses a report, which is dropped: HTTP {} {}", reply.status,
               problem_detail(reply.body));
  attempts_ = 0;
  complete_due_ = false;
  book_.drop(batch);
}

std::vector<uid_t> Announcer::changed_users(const AnnouncementReply &reply) {
  std::vector<uid_t> changed;
  std::map<uid_t, std::string> generations;
  for (const auto &[user, uid] : uid_of_) {
    const auto known = generation_of_.find(uid);
    const auto told = reply.generations.find(user);
    if (told == reply.generations.end()) {
      if (known != generation_of_.end()) {
        generations.insert(*known);
      }
      continue;
    }
    if (known != generation_of_.end() && known->second != told->second) {
      spdlog::debug("the requirements of uid {} have changed", uid);
      changed.push_back(uid);
    }
    generations[uid] = told->second;
  }
  generation_of_ = std::move(generations);
  return changed;
}

void Announcer::settle(Lock &lock, const Batch &batch, AnnouncementReply reply) {
  const auto now = Clock::now();
  if (batch.size() > 0 || batch.complete) {
    spdlog::debug("announced {} opened{} and {} ended; {} more wait, {} are open, {} were unknown",
                  batch.opened.size(), batch.complete ? " (all)" : "", batch.ended.size(),
                  book_.waiting(), book_.open(), reply.unknown.size());
  }
  attempts_ = 0;
  batch_limit_ = std::min(kLargestBatch, batch_limit_ * 2);
  pace_ = reply.next_within;
  heartbeat_at_ = now + part_of(pace_, 0.6, random_); // agents started together drift apart
  std::vector<uint64_t> refused;
  for (const auto &[id, why] : reply.refused) {
    spdlog::debug("the service refuses placement {}: {}", format_id(id), printable(why));
    refused.push_back(id);
  }
  book_.settle(batch, reply.unknown, refused);
  if (reply.instance != instance_) {
    instance_ = reply.instance;
    complete_due_ = true;
  }
  std::vector<LedgerFile> strangers;
  if (reply.open) {
    for (LedgerFile &file : *reply.open) {
      if (!book_.knows(file.placement_id)) {
        strangers.push_back(std::move(file));
      }
    }
    comparing_ = comparing_ || !strangers.empty();
  }
  if (!reply.snapshot.empty()) {
    snapshot_at_ = now;
  }
  lock.unlock();
  if (!strangers.empty()) {
    listeners_.on_ledger(std::move(strangers));
  }
  std::map<uid_t, std::vector<std::string>> applications;
  for (const auto &[user, uid] : uid_of_) {
    applications[uid]; // those the service does not name have none
  }
  for (auto &[user, names] : reply.applications) {
    if (const auto uid = uid_of_.find(user); uid != uid_of_.end()) {
      applications[uid->second] = std::move(names);
    }
  }
  if (!uid_of_.empty() && listeners_.on_applications) {
    listeners_.on_applications(applications);
  }
  if (const auto changed = changed_users(reply); !changed.empty() && listeners_.on_changed) {
    listeners_.on_changed(changed);
  }
  if (const auto users = users_of_closed(batch);
      !users.empty() && reply.next_within <= kUnhurried && listeners_.on_closed) {
    listeners_.on_closed(users);
  }
  if (!reply.snapshot.empty() && listeners_.on_snapshot) {
    listeners_.on_snapshot(reply.snapshot);
  }
  lock.lock();
}

} // namespace ses::agent
