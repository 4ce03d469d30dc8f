// Where files of each user can be staged now.
#include <spdlog/spdlog.h>

#include <cstring>

#include "claims/claims_manager.h"
#include "ses/limits.h"

namespace ses::agent {
namespace {

constexpr std::chrono::seconds kStageAgain{30};                                  // after it failed
constexpr size_t kMaxUnusable = SES_ANNOUNCED_EXCLUDED_MAX - SES_TABLE_ELEMENTS; // of a system

} // namespace

void ClaimsManager::stage(uid_t uid, User &user, Time now) {
  for (const unsigned system : parts_.table.systems()) {
    if (parts_.table.about(system).backend != SES_BACKEND_MERGERFS) {
      continue;
    }
    const std::string &mount_point = parts_.table.about(system).mount_point;
    uint64_t excluded = parts_.table.excluded(system);
    for (const ElementFacts &row : parts_.table.facts(system)->rows) {
      const bool takes_files = (excluded & 1) == 0;
      excluded >>= 1;
      if (!takes_files) {
        continue;
      }
      const auto [found, is_first] = user.stages.try_emplace(row.target);
      Stage &stage = found->second;
      stage.branch = {mount_point, row.target, row.file_system};
      if (is_first || (stage.state == StageState::kFailed && now - stage.since >= kStageAgain)) {
        stage.state = StageState::kWaiting;
        stage.since = now;
        parts_.stager.request(uid, stage.branch, false);
      }
    }
  }
}

void ClaimsManager::failed(uid_t uid, const std::string &target, int error, Time now) {
  if (!is_of_branch(error)) {
    stage_again(uid, error == ENOENT ? std::nullopt : std::optional(target), now);
    return;
  }
  const auto found = users_.find(uid);
  if (found == users_.end() || !found->second.stages.contains(target)) {
    return;
  }
  Stage &stage = found->second.stages[target];
  if (stage.state != StageState::kFailed) {
    spdlog::warn("branch {} is not used for uid {} for {} s: a file could not be made there: {}",
                 target, uid, kStageAgain.count(), std::strerror(error));
  }
  stage.state = StageState::kFailed;
  stage.since = now;
  set_trouble(stage, std::string("a file could not be made there: ") + std::strerror(error));
  show_staged(found->second);
}

void ClaimsManager::stage_again(uid_t uid, const std::optional<std::string> &target, Time now) {
  const auto found = users_.find(uid);
  if (found == users_.end()) {
    return;
  }
  for (auto &[of, stage] : found->second.stages) {
    if (target ? of == *target : stage.state == StageState::kThere) {
      stage.state = StageState::kWaiting;
      stage.since = now;
      parts_.stager.request(uid, stage.branch, true);
    }
  }
  show_staged(found->second);
}

void ClaimsManager::stage_again(const std::string &target, Time now) {
  spdlog::debug("the staging directory of branch {} was moved or removed", target);
  for (const auto &[uid, user] : users_) {
    stage_again(uid, target, now);
  }
}

void ClaimsManager::staged(const std::vector<Stager::Result> &results, Time now) {
  for (const Stager::Result &result : results) {
    const auto found = users_.find(result.uid);
    if (found != users_.end()) {
      Stage &stage = found->second.stages[result.target];
      stage.state = result.why.empty() ? StageState::kThere : StageState::kFailed;
      stage.since = now;
      set_trouble(stage, result.why);
      show_staged(found->second);
    }
  }
}

void ClaimsManager::set_trouble(Stage &stage, const std::string &why) {
  has_unusable_ = has_unusable_ || stage.why != why;
  stage.why = why;
}

void ClaimsManager::announce_unusable() {
  for (const unsigned system : parts_.table.systems()) {
    Exclusions found;
    for (const auto &[uid, user] : users_) {
      for (const auto &[target, stage] : user.stages) {
        if (stage.why.empty()) {
          continue;
        }
        for (const ElementFacts &row : parts_.table.facts(system)->rows) {
          if (row.target == target && found.size() < kMaxUnusable) {
            found.push_back({row.element, stage.why, uid});
          }
        }
      }
    }
    parts_.table.exclude_for_users(system, std::move(found));
  }
  parts_.announcer.heartbeat_now();
}

void ClaimsManager::show_staged(User &user) {
  if (!user.claims) {
    return;
  }
  for (const unsigned system : parts_.table.systems()) {
    bool is_final = true;
    user.claims->set_staged(system, ~not_staged(user.claims->uid(), system, is_final));
  }
}

uint64_t ClaimsManager::not_staged(uid_t uid, unsigned system, bool &is_final) const {
  is_final = true;
  if (parts_.table.about(system).backend != SES_BACKEND_MERGERFS) {
    return 0;
  }
  const auto user = users_.find(uid);
  const uint64_t excluded = parts_.table.excluded(system);
  uint64_t rows = 0, row = 1;
  for (const ElementFacts &facts : parts_.table.facts(system)->rows) {
    const auto known = user == users_.end() ? std::nullopt : [&]() -> std::optional<StageState> {
      const auto found = user->second.stages.find(facts.target);
      return found == user->second.stages.end() ? std::nullopt : std::optional(found->second.state);
    }();
    const bool is_waiting = !known.has_value() || *known == StageState::kWaiting;
    rows |= known.has_value() && *known == StageState::kThere ? 0 : row;
    is_final = is_final && ((excluded & row) != 0 || !is_waiting);
    row <<= 1;
  }
  return rows;
}

} // namespace ses::agent
