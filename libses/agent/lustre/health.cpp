#include "lustre/health.h"

#include <spdlog/spdlog.h>

#include <algorithm>
#include <cstdlib>

#include "node/heartbeat.h"
#include "node/may_hang.h"

namespace ses::agent {
namespace {

void log_changes(const std::string &system, const LustreTargets &before,
                 const LustreTargets &after) {
  for (const auto &[index, why] : after.troubled) {
    if (!before.troubled.contains(index)) {
      spdlog::warn("OST {} of {} is not used: {}", index, system, why);
    }
  }
  for (const auto &[index, why] : before.troubled) {
    if (!after.troubled.contains(index)) {
      spdlog::info("OST {} of {} is used again", index, system);
    }
  }
}

} // namespace

LustreHealth::Sources
LustreHealth::of_this_node(std::function<std::vector<StorageSystem>()> systems,
                           std::function<std::string()> mountinfo) {
  Sources sources{.systems = std::move(systems), .mountinfo = std::move(mountinfo)};
  const char *standin = secure_getenv("SES_LUSTRE_STANDIN");
  if (standin != nullptr && *standin == '/') {
    sources.root = standin;
    sources.file_system = "lustre";
  }
  return sources;
}

bool LustreHealth::has_looked_at(const std::string &system) const {
  const std::lock_guard lock(mutex_);
  return looked_at_.contains(system);
}

void LustreHealth::ask_servers(const std::string &system, const std::string &mount_point,
                               LustreTargets &targets) {
  const auto now = std::chrono::steady_clock::now();
  LustreQuestions &questions = questions_.try_emplace(system, sources_.pace).first->second;
  std::set<uint16_t> used;
  {
    const std::lock_guard lock(mutex_);
    used.swap(used_[system]);
  }
  for (const uint16_t ost : used) {
    questions.use(ost, now);
  }
  questions.go_on(
      targets.unknown,
      [ask = sources_.ask, at = mount_point](uint16_t ost, std::atomic<bool> &at_server) {
        return ask(at, ost, at_server);
      },
      now);
  targets.troubled.merge(questions.troubled());
}

void LustreHealth::use(const std::string &system, const std::vector<uint16_t> &osts) {
  const std::lock_guard lock(mutex_);
  used_[system].insert(osts.begin(), osts.end());
}

std::chrono::nanoseconds LustreHealth::look() {
  const Turn turn(Duty::kLustreHealth);
  const std::vector<StorageSystem> systems = sources_.systems();
  const std::string mountinfo = systems.empty() ? "" : sources_.mountinfo();
  std::vector<std::pair<std::string, LustreMount>> mounted; // by system
  std::vector<std::pair<Subject, std::function<LustreTargets()>>> reads;
  for (const StorageSystem &system : systems) {
    const auto mount = sources_.file_system.empty()
                           ? find_lustre(mountinfo, system.mount_point, system.name)
                           : LustreMount{sources_.file_system, system.mount_point};
    if (mount) {
      mounted.emplace_back(system.name, *mount);
      reads.emplace_back(Subject{"the client of the Lustre " + mount->file_system},
                         [root = sources_.root, name = mount->file_system] {
                           return read_lustre_targets(root, name);
                         });
    }
  }
  auto read = all_that_may_hang(std::move(reads), kOfStorage);
  std::map<std::string, LustreTargets> by_system;
  for (size_t i = 0; i < mounted.size(); ++i) {
    const auto &[system, mount] = mounted[i];
    LustreTargets &targets = by_system[system];
    if (read[i]) {
      targets = std::move(*read[i]);
      ask_servers(system, mount.mount_point, targets);
    } else {
      const std::lock_guard lock(mutex_);
      targets = targets_[system]; // as last seen
      targets.why = "the client of this node does not answer";
    }
  }
  std::erase_if(questions_,
                [&by_system](const auto &question) { return !by_system.contains(question.first); });
  std::function<void()> notify;
  {
    const std::lock_guard lock(mutex_);
    for (const auto &[system, targets] : by_system) {
      log_changes(system, targets_[system], targets);
    }
    std::set<std::string> looked_at;
    for (const StorageSystem &system : systems) {
      looked_at.insert(system.name);
    }
    if (by_system != targets_ || looked_at != looked_at_) {
      notify = on_change_;
    }
    targets_ = std::move(by_system);
    looked_at_ = std::move(looked_at);
  }
  if (notify) {
    notify();
  }
  return systems.empty() ? RepeatingThread::kUntilWoken : sources_.look_every;
}

std::string LustreHealth::trouble_of(const std::string &system, const Placement &placement) const {
  const std::lock_guard lock(mutex_);
  const bool is_pool = placement.lustre_form == SES_LUSTRE_POOL;
  const auto targets = targets_.find(system);
  if (targets == targets_.end()) {
    return is_pool ? "the pools of this node's client are not to be seen" : "";
  }
  if (!targets->second.why.empty()) {
    return targets->second.why;
  }
  for (const uint16_t ost : placement.osts) {
    if (const auto trouble = targets->second.troubled.find(ost);
        trouble != targets->second.troubled.end()) {
      return "OST " + std::to_string(ost) + ": " + trouble->second;
    }
    if (!targets->second.seen.empty() && !targets->second.seen.contains(ost)) {
      return "there is no OST " + std::to_string(ost) + " on this node's client";
    }
  }
  if (!is_pool) {
    return "";
  }
  const auto pool = targets->second.pools.find(placement.pool);
  if (pool == targets->second.pools.end()) {
    return "there is no pool " + placement.pool;
  }
  if (!pool->second.empty() && *pool->second.rbegin() >= SES_MEMBERS_MAX) {
    return "pool " + placement.pool + " has an OST of an index above " +
           std::to_string(SES_MEMBERS_MAX - 1);
  }
  const bool usable = std::ranges::any_of(
      pool->second, [&](uint16_t ost) { return !targets->second.troubled.contains(ost); });
  return usable ? "" : "pool " + placement.pool + " has no OST that takes files";
}

void LustreHealth::add_pool(const std::string &system, Placement &placement) const {
  const std::lock_guard lock(mutex_);
  const auto targets = targets_.find(system);
  if (targets == targets_.end() || placement.osts.empty() || !placement.pool.empty()) {
    return;
  }
  size_t least = SIZE_MAX;
  for (const auto &[pool, members] : targets->second.pools) {
    const bool holds_all = std::ranges::all_of(
        placement.osts, [&members = members](uint16_t ost) { return members.contains(ost); });
    if (holds_all && members.size() < least && pool.size() < SES_POOL_MAX) {
      least = members.size();
      placement.pool = pool;
    }
  }
}

void LustreHealth::write_as(ses_lustre_form form, const std::string &system,
                            Placement &placement) const {
  if (placement.lustre_form == SES_LUSTRE_LIST) {
    add_pool(system, placement);
  }
  const std::lock_guard lock(mutex_);
  const auto targets = targets_.find(system);
  const std::set<uint16_t> *members = nullptr;
  if (targets != targets_.end()) {
    const auto pool = targets->second.pools.find(placement.pool);
    members = pool != targets->second.pools.end() ? &pool->second : nullptr;
  }
  const std::set<uint16_t> chosen(placement.osts.begin(), placement.osts.end());
  if (placement.lustre_form == SES_LUSTRE_LIST && form == SES_LUSTRE_OFFSET) {
    placement.lustre_form = SES_LUSTRE_OFFSET;
  } else if (placement.lustre_form == SES_LUSTRE_LIST && form == SES_LUSTRE_POOL &&
             members != nullptr && *members == chosen) {
    placement.lustre_form = SES_LUSTRE_POOL;
    placement.osts.clear();
  }
  if (placement.lustre_form == SES_LUSTRE_POOL && members != nullptr) {
    placement.members.assign(members->begin(), members->end());
  }
}

} // namespace ses::agent
