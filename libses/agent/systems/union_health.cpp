#include "systems/union_health.h"

#include <utility>

#include "node/heartbeat.h"
#include "node/may_hang.h"

namespace ses::agent {
namespace {

constexpr std::chrono::seconds kLookAtUnionsEvery{1};

} // namespace

void UnionHealth::set_on_change(std::function<void()> on_change) {
  on_change_ = std::move(on_change);
}

void UnionHealth::start() {
  thread_ = std::thread([this] { work(); });
}

void UnionHealth::stop() {
  {
    const std::lock_guard lock(mutex_);
    stopping_ = true;
  }
  wake_.notify_all();
  if (thread_.joinable()) {
    thread_.join();
  }
}

void UnionHealth::look_soon() {
  {
    const std::lock_guard lock(mutex_);
    look_now_ = true;
  }
  wake_.notify_all();
}

bool UnionHealth::has_looked_at(const std::string &mount_point) const {
  const std::lock_guard lock(mutex_);
  return seen_.contains(mount_point);
}

Union UnionHealth::seen(const std::string &mount_point) const {
  const std::lock_guard lock(mutex_);
  const auto found = seen_.find(mount_point);
  return found == seen_.end() ? Union{"was not looked at yet", {}} : found->second;
}

void UnionHealth::work() {
  std::unique_lock lock(mutex_);
  while (!stopping_) {
    look_now_ = false;
    lock.unlock();
    look();
    lock.lock();
    const auto is_due = [this] { return stopping_ || look_now_; };
    if (seen_.empty()) { // nothing here is a union
      wake_.wait(lock, is_due);
    } else {
      wake_.wait_for(lock, kLookAtUnionsEvery, is_due);
    }
  }
}

void UnionHealth::look() {
  const Turn turn(Duty::kUnionHealth);
  std::map<std::string, Union> seen;
  for (const StorageSystem &system : unions_()) {
    const std::string &at = system.mount_point;
    auto read = what_may_hang(
        "the union at " + at, [at] { return read_union(at); }, kOfStorage);
    seen[at] = read ? std::move(*read) : Union{"does not answer", {}};
  }
  bool changed = false;
  {
    const std::lock_guard lock(mutex_);
    changed = seen != seen_;
    seen_ = std::move(seen);
  }
  if (changed && on_change_) {
    on_change_();
  }
}

} // namespace ses::agent
