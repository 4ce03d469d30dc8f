#include "claims/user_stages.h"

#include <spdlog/spdlog.h>

#include <cerrno>
#include <cstring>
#include <utility>

#include "claims/lookup.h"
#include "ses/limits.h"

namespace ses::agent {
namespace {

constexpr std::chrono::seconds kStageAgain{30}; // after it failed
constexpr std::chrono::milliseconds kSpared{200};
constexpr size_t kMaxUnusable = SES_ANNOUNCED_EXCLUDED_MAX - SES_TABLE_ELEMENTS; // of a system

} // namespace

void UserStages::prepare(uid_t uid, Time now) {
  auto &stages = stages_[uid];
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
      const auto [position, is_first] = stages.try_emplace(row.target);
      Stage &stage = position->second;
      stage.branch = {mount_point, row.target, row.file_system};
      if (is_first || (stage.state == State::kFailed && now - stage.since >= kStageAgain)) {
        stage.state = State::kWaiting;
        stage.since = now;
        parts_.stager.request(uid, stage.branch, false);
      }
    }
  }
}

void UserStages::remove(uid_t uid) {
  const auto of_user = stages_.find(uid);
  if (of_user == stages_.end()) {
    return;
  }
  for (const auto &[target, stage] : of_user->second) {
    has_changed_ = has_changed_ || !stage.why.empty();
    parts_.stager.remove(uid, stage.branch);
  }
  stages_.erase(of_user);
}

void UserStages::failed(uid_t uid, const std::string &target, int error, Time now) {
  if (!is_of_branch(error)) {
    prepare_again(uid, error == ENOENT ? std::nullopt : std::optional(target), now, true);
    return;
  }
  const auto user = stages_.find(uid);
  if (user == stages_.end() || !user->second.contains(target)) {
    return;
  }
  Stage &stage = user->second[target];
  if (stage.state != State::kFailed) {
    spdlog::warn("branch {} is not used for uid {} for {} s: a file could not be made there: {}",
                 target, uid, kStageAgain.count(), std::strerror(error));
  }
  stage.state = State::kFailed;
  stage.since = now;
  set_trouble(stage, std::string("a file could not be made there: ") + std::strerror(error));
}

void UserStages::prepare_again(uid_t uid, const std::optional<std::string> &target, Time now,
                               bool is_reported) {
  const auto user = stages_.find(uid);
  if (user == stages_.end()) {
    return;
  }
  for (auto &[of, stage] : user->second) {
    const bool is_due = !is_reported || (stage.state == State::kThere && now >= stage.spared_until);
    if (is_due && (!target || of == *target)) {
      stage.is_reported = is_reported;
      stage.state = State::kWaiting;
      stage.since = now;
      parts_.stager.request(uid, stage.branch, true);
    }
  }
}

void UserStages::take(const Stager::Result &result, Time now) {
  const auto user = stages_.find(result.uid);
  if (user != stages_.end()) {
    Stage &stage = user->second[result.target];
    stage.state = result.why.empty() ? State::kThere : State::kFailed;
    stage.since = now;
    stage.spared_until =
        std::exchange(stage.is_reported, false) && !result.is_made ? now + kSpared : Time{};
    set_trouble(stage, result.why);
  }
}

void UserStages::set_trouble(Stage &stage, const std::string &why) {
  has_changed_ = has_changed_ || stage.why != why;
  stage.why = why;
}

void UserStages::announce_unusable(bool rows_changed) {
  if (!std::exchange(has_changed_, false) && !rows_changed) {
    return;
  }
  for (const unsigned system : parts_.table.systems()) {
    Exclusions unusable;
    for (const auto &[uid, stages] : stages_) {
      for (const auto &[target, stage] : stages) {
        if (stage.why.empty()) {
          continue;
        }
        for (const ElementFacts &row : parts_.table.facts(system)->rows) {
          if (row.target == target && unusable.size() < kMaxUnusable) {
            unusable.push_back({row.element, stage.why, uid});
          }
        }
      }
    }
    parts_.table.exclude_for_users(system, std::move(unusable));
  }
  parts_.announcer.heartbeat_now();
}

uint64_t UserStages::not_staged(uid_t uid, unsigned system, bool &is_final) const {
  is_final = true;
  if (parts_.table.about(system).backend != SES_BACKEND_MERGERFS) {
    return 0;
  }
  const auto user = stages_.find(uid);
  const uint64_t excluded = parts_.table.excluded(system);
  uint64_t rows = 0, row = 1;
  for (const ElementFacts &facts : parts_.table.facts(system)->rows) {
    const auto known = user == stages_.end() ? std::nullopt : [&]() -> std::optional<State> {
      const auto stage = user->second.find(facts.target);
      return stage == user->second.end() ? std::nullopt : std::optional(stage->second.state);
    }();
    const bool is_waiting = !known.has_value() || *known == State::kWaiting;
    rows |= known.has_value() && *known == State::kThere ? 0 : row;
    is_final = is_final && ((excluded & row) != 0 || !is_waiting);
    row <<= 1;
  }
  return rows;
}

} // namespace ses::agent
