#include "table/saved_state.h"

#include <spdlog/spdlog.h>

#include <optional>
#include <utility>

#include "node/own_file.h"
#include "service/json.h"

namespace ses::agent {
namespace {

using nlohmann::json;

constexpr size_t kMaxFile = 8u << 20;
constexpr size_t kMaxUsers = 4096;
constexpr const char *kFile = "/agent.json";

} // namespace

SavedState::SavedState(std::string directory) : directory_(std::move(directory)) {
  try {
    const json object = json::parse(read_own(directory_ + kFile, kMaxFile));
    systems_ = text_field(object, "systems");
    tables_ = object.value("tables", decltype(tables_){});
    needs_ = object.value("needs", decltype(needs_){});
  } catch (const std::exception &) {
    tables_.clear();
    needs_.clear();
  }
}

std::string SavedState::systems() const {
  const std::lock_guard lock(mutex_);
  return systems_;
}

std::vector<TableAnswer> SavedState::tables() const {
  std::vector<TableAnswer> tables;
  const std::lock_guard lock(mutex_);
  for (const auto &[system, table] : tables_) {
    try {
      tables.push_back(parse_table(table));
    } catch (const std::exception &error) {
      spdlog::debug("the saved table of {} is not one: {}", system, error.what());
    }
  }
  return tables;
}

SavedNeeds SavedState::needs() const {
  SavedNeeds saved;
  const std::lock_guard lock(mutex_);
  for (const auto &[uid, entries] : needs_) {
    try {
      for (const auto &[user, needs] : parse_needs(entries)) {
        (uid.empty() ? saved.site : saved.users[static_cast<uid_t>(std::stoul(uid))]) = needs;
      }
    } catch (const std::exception &error) {
      spdlog::debug("the saved needs of uid {} are none: {}", uid, error.what());
    }
  }
  return saved;
}

void SavedState::set_systems(const std::string &text) {
  const std::lock_guard lock(mutex_);
  changed_ = changed_ || text != systems_;
  systems_ = text;
}

void SavedState::set_table(json table) {
  const std::lock_guard lock(mutex_);
  const auto system = table.at("system").get<std::string>();
  changed_ = true;
  if (!merge_table(tables_[system], std::move(table))) {
    tables_.erase(system);
  }
}

void SavedState::set_needs(std::optional<uid_t> uid, const json &entries) {
  const std::string key = uid ? std::to_string(*uid) : "";
  const std::lock_guard lock(mutex_);
  if (needs_.size() < kMaxUsers || needs_.contains(key)) {
    needs_[key] = entries;
    changed_ = true;
  }
}

void SavedState::save(std::chrono::seconds least) {
  std::string text;
  {
    const std::lock_guard lock(mutex_);
    const auto now = std::chrono::steady_clock::now();
    if (!changed_ || now - saved_at_ < least) {
      return;
    }
    changed_ = false;
    saved_at_ = now;
    text = text_of({{"systems", systems_}, {"tables", tables_}, {"needs", needs_}});
  }
  const std::string why = write_own(directory_, kFile, text);
  if (!why.empty() && !std::exchange(logged_not_saved_, true)) {
    spdlog::warn("what the agent knows of the storage is not saved for its next start: {}; see "
                 "--state-dir",
                 why);
  }
}

} // namespace ses::agent
