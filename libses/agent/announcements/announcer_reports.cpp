// What other threads have to report.
#include <spdlog/spdlog.h>

#include <set>
#include <utility>

#include "announcements/announcer.h"

namespace ses::agent {
namespace {

bool moved_data(EndReason reason) {
  return reason == EndReason::kClosed || reason == EndReason::kExited;
}

} // namespace

void Announcer::report(std::vector<AnnouncementBacklog::Opening> opened,
                       const std::vector<IdleFiles::Changed> &moved,
                       std::vector<AnnouncementBacklog::Ending> ended) {
  if (opened.empty() && moved.empty() && ended.empty()) {
    return;
  }
  std::vector<Exchange::Ended> counted;
  counted.reserve(ended.size());
  for (const auto &[uid, file] : ended) {
    spdlog::debug("placement {:016x} of uid {} ended: {}", file.placement_id, uid,
                  name_of(file.reason));
    counted.push_back({file.placement_id, moved_data(file.reason)});
  }
  service_.exchange.moved(moved);
  service_.exchange.ended(counted);
  bool is_time = false;
  {
    const std::lock_guard lock(mutex_);
    is_time = is_to_look(opened.size() + moved.size() + ended.size());
    if (!opened.empty()) {
      used_at_ = created_at_ = Clock::now();
    }
    hold_back(opened, ended);
    enter(std::move(opened), std::move(ended));
    change(moved, {});
  }
  if (is_time) {
    wake_.notify_one();
  }
}

void Announcer::grew(const std::vector<IdleFiles::Grown> &files) {
  bool is_time = false;
  {
    const std::lock_guard lock(mutex_);
    is_time = !files.empty() && is_to_look(files.size());
    change({}, files);
  }
  if (is_time) {
    wake_.notify_one();
  }
}

// MORE reports wait from now on.  True when the thread has to work out again when the next batch
// is due.
bool Announcer::is_to_look(size_t more) const {
  return backlog_.waiting() == 0 || backlog_.waiting() + more >= usual_batch();
}

void Announcer::compared(bool places) {
  {
    const std::lock_guard lock(mutex_);
    (places ? comparing_places_ : comparing_) = false;
  }
  wake_.notify_one();
}

void Announcer::user_seen(uid_t uid) {
  {
    const std::lock_guard lock(mutex_);
    if (!users_.see(uid, Clock::now())) {
      return;
    }
    heartbeat_at_ = Clock::now();
  }
  wake_.notify_one();
}

void Announcer::reading(std::vector<Reading> reading) {
  {
    const std::lock_guard lock(mutex_);
    reading_ = std::move(reading);
    reading_due_ = true;
    heartbeat_at_ = Clock::now();
  }
  wake_.notify_one();
}

std::set<FileId> Announcer::streams_of(const std::set<FileId> &files) const {
  const std::lock_guard lock(mutex_);
  return backlog_.streams_of(files);
}

void Announcer::announce_soon() {
  {
    const std::lock_guard lock(mutex_);
    heartbeat_at_ = used_at_ = Clock::now();
  }
  wake_.notify_one();
}

void Announcer::heartbeat_now() {
  {
    const std::lock_guard lock(mutex_);
    heartbeat_at_ = Clock::now();
  }
  wake_.notify_one();
}

bool Announcer::overloaded_by(uid_t uid) const {
  const std::lock_guard lock(mutex_);
  return backlog_.crowded_by(uid);
}

std::chrono::milliseconds Announcer::pace() const {
  const std::lock_guard lock(mutex_);
  return pace_;
}

} // namespace ses::agent
