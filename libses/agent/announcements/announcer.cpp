#include "announcements/announcer.h"

#include <spdlog/spdlog.h>

#include <algorithm>
#include <set>

#include "node/heartbeat.h"
#include "protocol/wire.h"
#include "service/json.h"
#include "service/messages.h"
#include "ses/limits.h"

namespace ses::agent {
namespace {

// A message is one piece of the service's work, for which a file created meanwhile waits.
constexpr size_t kUsualBatch = 500;
constexpr size_t kMaxBody = 1000000; // bytes; the service takes 1 MiB
constexpr int kTooLarge = 413;       // its answer to more
constexpr size_t kUnsentBatch = 40;  // not too large with the longest paths, either
// A file is reported at once, unless other files were reported just before.  A program that created
// a file may soon create the next: for this many reporting intervals the node asks for changes.
constexpr int kCreatingFor = 20;
constexpr size_t kManyFiles = 50; // a report of this many doubles the time until the next one
constexpr std::chrono::minutes kUsedFor{10}; // after a program began, or a file was created
constexpr std::chrono::milliseconds kLookAgain{1000}; // whether the service is back
constexpr std::chrono::milliseconds kAfterFault{500};
constexpr unsigned kMaxAttempts = 3;
constexpr std::chrono::milliseconds kNameAgain{20}; // whether it is known by now

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

// The service answers, and refuses this request or breaks at it.
bool is_refused(const Reply &reply) {
  return reply.status >= 400 && reply.status != 401 && reply.status != 403 && reply.status != 429 &&
         reply.status != 503;
}

} // namespace

Announcer::Announcer(Service service)
    : service_(service), client_(service.services, service.token, service.trust),
      refusals_(service.health), incarnation_(random_digits()), unsent_(service.saved.directory()),
      batch_limit_(SES_ANNOUNCED_FILES_MAX) {
  for (const auto &[uid, needs] : service.saved.needs().users) {
    generation_of_[uid] = needs->generation;
  }
}

Announcer::~Announcer() { stop(std::chrono::milliseconds(0)); }

void Announcer::start(Listeners listeners) {
  listeners_ = std::move(listeners);
  thread_ = std::thread([this] { work(); });
}

void Announcer::stop(std::chrono::milliseconds limit) {
  Lock lock(mutex_);
  if (!stopping_) {
    stopping_ = true;
    stop_by_ = Clock::now() + limit;
  }
  wake_.notify_all();
  if (!thread_.joinable()) {
    return;
  }
  for (auto until = stop_by_; !over_.wait_until(lock, until, [this] { return is_over_; });
       until = Clock::now() + kLookAgain) {
    lock.unlock();
    client_.break_off();
    lock.lock();
  }
  lock.unlock();
  thread_.join();
  keep_unsent();
}

void Announcer::work() {
  Lock lock(mutex_);
  for (;;) {
    const auto now = Clock::now();
    let_go_on();
    if (stopping_ && (backlog_.waiting() == 0 || now >= stop_by_ || !service_.health.available())) {
      is_over_ = true;
      over_.notify_all();
      return;
    }
    if (!service_.health.available()) {
      wake_.wait_for(lock, kLookAgain);
    } else if (!stopping_ && !unsent_.empty() && !instance_.empty() && not_before_ <= now) {
      report_unsent(lock);
    } else if (const auto next = next_send(); next > now) {
      wake_.wait_until(lock, next);
    } else {
      send(lock, next_batch());
    }
  }
}

Clock::time_point Announcer::next_send() const {
  auto next = heartbeat_at_;
  if (backlog_.waiting() > 0 || is_complete_due()) {
    const bool now = stopping_ || backlog_.waiting() >= usual_batch();
    next = std::min(next, now ? sent_at_ : sent_at_ + pause());
  }
  next = std::max(next, not_before_);
  return held_opened_.empty() && held_ended_.empty() ? next
                                                     : std::min(next, Clock::now() + kNameAgain);
}

// Between two reports where files were opened or ended.
std::chrono::milliseconds Announcer::pause() const {
  return sent_files_ > kManyFiles ? 2 * report_within_ : report_within_;
}

Announcer::Batch Announcer::next_batch() {
  if (is_complete_due() && !stopping_) {
    if (auto all = backlog_.take_all(batch_limit_)) {
      complete_due_ = false;
      return std::move(*all);
    }
    if (backlog_.open() > batch_limit_ / 2) { // never fits: one by one then
      complete_due_ = false;
      backlog_.report_all_again();
    }
  }
  return backlog_.take(usual_batch());
}

size_t Announcer::usual_batch() const { return std::min(kUsualBatch, batch_limit_); }

void Announcer::send(Lock &lock, Batch batch) {
  const Turn turn(Duty::kAnnouncer);
  const auto now = Clock::now();
  const std::vector<uid_t> users = users_.take(now);
  sent_at_ = now;
  sent_files_ = batch.size();
  const bool in_use = now - used_at_ < kUsedFor;
  const auto reading = std::exchange(reading_due_, false) ? std::optional(reading_) : std::nullopt;
  lock.unlock();
  Announcement announcement = announcement_of(batch, users);
  announcement.reading = reading;
  excluded_.leave_out_reported(announcement.tables);
  announcement.in_use = announcement.busy && in_use;
  announcement.stalled = stalled_threads(now);
  const std::string body = announcement_body(announcement);
  Reply reply;
  reply.status = kTooLarge;
  if (body.size() <= kMaxBody || batch.size() <= 1) {
    reply = client_.request("POST", announcement_path(service_.node), body);
  }
  auto parsed = read(reply);
  lock.lock();
  if (!parsed) {
    reading_due_ = reading_due_ || reading;
    failed(std::move(batch), reply);
    return;
  }
  excluded_.reported(announcement.tables, !parsed->open && parsed->instance == instance_);
  refusals_.note(announcement, *parsed, now);
  settle(lock, std::move(batch), std::move(*parsed), now);
}

// Sends the first batch of what an earlier agent could not report.
void Announcer::report_unsent(Lock &lock) {
  const Turn turn(Duty::kAnnouncer);
  Announcement head;
  head.incarnation = incarnation_;
  head.number = ++number_;
  head.busy = service_.exchange.busy();
  head.in_use = head.busy && Clock::now() - used_at_ < kUsedFor;
  head.stalled = stalled_threads(Clock::now());
  lock.unlock();
  const Reply reply =
      client_.request("POST", announcement_path(service_.node), unsent_.first(head));
  lock.lock();
  const bool done = reply.status == 200, hopeless = is_refused(reply) || reply.timed_out;
  if (!done && (!hopeless || ++unsent_attempts_ < kMaxAttempts)) {
    not_before_ = Clock::now() + part_of(kAfterFault, 0, random_);
    if (const std::string cause = failure_of(reply); !cause.empty()) {
      service_.health.failed(cause, reply);
    }
    return;
  }
  if (!done) {
    spdlog::warn("the service does not take what ended before the last start, which is dropped: "
                 "HTTP {} {}",
                 reply.status, problem_detail(reply.body));
  }
  unsent_attempts_ = 0;
  unsent_.drop_first();
}

// What ended and is not known to be stored.
void Announcer::keep_unsent() {
  const size_t waiting = backlog_.waiting();
  for (const Batch &batch : backlog_.take_ended(kUnsentBatch)) {
    unsent_.add(announcement_of(batch, {}));
  }
  const std::string why = unsent_.keep();
  if (!why.empty()) {
    spdlog::warn("what ended is not kept for the next start, and stays without a record: {}; see "
                 "--state-dir",
                 why);
  } else if (waiting > 0) {
    spdlog::info("{} reports were not sent; the next start reports those of files that ended",
                 waiting);
  }
}

// Puts BATCH back, unless it is the smallest that the service breaks at, again and again.
void Announcer::failed(Batch batch, const Reply &reply) {
  const size_t size = batch.size();
  complete_due_ = complete_due_ || batch.complete;
  if (reply.status == 404 || reply.status == 405) {
    if (!std::exchange(logged_no_announcements_, true)) {
      spdlog::warn("the service takes no announcements for node {} (HTTP {} {}): it does not learn "
                   "which files are open here; use one of the agent's version",
                   service_.node, reply.status, problem_detail(reply.body));
    }
    heartbeat_at_ = Clock::now() + pace_;
    backlog_.drop(batch);
    return;
  }
  if (!is_refused(reply) || size == 0) {
    backlog_.put_back(std::move(batch));
    if (reply.timed_out && size > 1) { // perhaps there is too much of it
      batch_limit_ = size / 2;
    }
    const std::string cause = failure_of(reply);
    service_.health.failed(cause.empty() ? "its answer to an announcement is not one" : cause,
                           reply);
    return;
  }
  if (reply.status != kTooLarge) {
    not_before_ = Clock::now() + part_of(kAfterFault, 0, random_);
  }
  if (size > 1 || ++attempts_ < kMaxAttempts) {
    spdlog::debug("an announcement of {} files failed: HTTP {} {}", size, reply.status,
                  problem_detail(reply.body));
    batch_limit_ = std::max<size_t>(size / 2, 1);
    backlog_.put_back(std::move(batch));
    return;
  }
  spdlog::warn("the service refuses a report, which is dropped: HTTP {} {}", reply.status,
               problem_detail(reply.body));
  attempts_ = 0;
  complete_due_ = !batch.ended.empty(); // then what is not listed has ended
  backlog_.drop(batch);
}

void Announcer::settle(Lock &lock, Batch batch, AnnouncementReply reply,
                       Clock::time_point asked_at) {
  const auto now = Clock::now();
  if (batch.size() > 0 || batch.complete) {
    spdlog::debug("announced {} opened{} and {} ended; {} more wait, {} are open, {} were unknown",
                  batch.opened.size(), batch.complete ? " (all)" : "", batch.ended.size(),
                  backlog_.waiting(), backlog_.open(), reply.unknown.size());
  }
  attempts_ = 0;
  batch_limit_ = std::min<size_t>(SES_ANNOUNCED_FILES_MAX, batch_limit_ * 2);
  pace_ = reply.next_within;
  report_within_ = reply.report_within;
  // Not all of it, so that agents started together drift apart.
  const bool creating = now - created_at_ < kCreatingFor * report_within_;
  heartbeat_at_ = now + part_of(creating ? std::min(pace_, pause()) : pace_, 0.8, random_);
  std::vector<uint64_t> refused;
  for (const auto &[id, why] : reply.refused) {
    refused.push_back(id);
  }
  if (reply.instance != instance_) {
    instance_ = reply.instance;
    complete_due_ = true;
    if (!held_opened_.empty()) {
      backlog_.report_all_again(); // the complete list waits for their names
    }
    reading_due_ = !reading_.empty();
    backlog_.report_unstored_again();
  }
  backlog_.settle(batch, number_, reply.unknown, refused);
  backlog_.stored(reply.stored);
  std::vector<LedgerFile> strangers, places;
  if (reply.open) {
    for (LedgerFile &file : *reply.open) {
      if (!backlog_.knows(file.placement_id)) {
        (file.place ? places : strangers).push_back(std::move(file));
      }
    }
    comparing_ = comparing_ || !strangers.empty();
    comparing_places_ = comparing_places_ || !places.empty();
  }
  service_.health.worked(reply.return_within);
  lock.unlock();
  if (!strangers.empty()) {
    listeners_.on_ledger(std::move(strangers));
  }
  if (!places.empty()) {
    listeners_.on_places(std::move(places));
  }
  if (!reply.unknown.empty()) {
    listeners_.on_unknown(reply.unknown);
  }
  pass_on(batch, std::move(reply), asked_at);
  lock.lock();
}

} // namespace ses::agent
