#include "systems/union_health.h"

#include <utility>

#include "node/heartbeat.h"
#include "node/may_hang.h"

namespace ses::agent {
namespace {

// mergerfs answers nothing while all its threads write to slow devices: for seconds, on a union
// that works.
constexpr Timeouts kOfUnions{std::chrono::milliseconds(5000), std::chrono::milliseconds(1000)};

constexpr std::chrono::seconds kLookAtUnionsEvery{1};

} // namespace

bool UnionHealth::has_looked_at(const std::string &mount_point) const {
  const std::lock_guard lock(mutex_);
  return seen_.contains(mount_point);
}

Union UnionHealth::seen(const std::string &mount_point) const {
  const std::lock_guard lock(mutex_);
  const auto known = seen_.find(mount_point);
  return known == seen_.end() ? Union{"was not looked at yet", {}} : known->second;
}

std::chrono::nanoseconds UnionHealth::look() {
  const Turn turn(Duty::kUnionHealth);
  const std::vector<StorageSystem> unions = unions_();
  std::vector<std::pair<Subject, std::function<Union()>>> reads;
  for (const StorageSystem &system : unions) {
    reads.emplace_back(Subject{"the union at " + system.mount_point},
                       [at = system.mount_point] { return read_union(at); });
  }
  auto read = all_that_may_hang(std::move(reads), kOfUnions);
  std::map<std::string, Union> seen;
  for (size_t i = 0; i < unions.size(); ++i) {
    seen[unions[i].mount_point] = std::move(read[i]).value_or(Union{"does not answer", {}});
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
  return unions.empty() ? RepeatingThread::kUntilWoken : kLookAtUnionsEvery;
}

} // namespace ses::agent
