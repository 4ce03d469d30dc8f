#include "service/needs.h"

#include <algorithm>
#include <cstring>
#include <nlohmann/json.hpp>
#include <stdexcept>

#include "service/json.h"
#include "ses/table.h"

namespace ses::agent {
namespace {

using nlohmann::json;

constexpr double kMegabyte = 1e6, kGigabyte = 1e9;
constexpr uint32_t kNotStated = SES_CORE_STATED_FIRST + SES_CORE_STATED; // the core knows no value

const char *kind_name(uint32_t kind) {
  switch (kind) {
  case SES_CORE_CURRENT_READ:
    return "current-read-rate";
  case SES_CORE_AVERAGE_READ:
    return "average-read-rate";
  case SES_CORE_CURRENT_WRITE:
    return "current-write-rate";
  case SES_CORE_AVERAGE_WRITE:
    return "average-write-rate";
  default:
    return "free-capacity";
  }
}

bool is_kind(uint32_t code) {
  return (code >= SES_CORE_CURRENT_READ && code <= SES_CORE_FREE) ||
         (code >= SES_CORE_STATED_FIRST && code <= kNotStated);
}

ses_core_requirement requirement_of(const json &object) {
  ses_core_requirement requirement{};
  requirement.kind = static_cast<uint32_t>(whole(object.at("code"), UINT32_MAX));
  requirement.bound = object.at("bound").get<double>();
  requirement.weight = object.at("weight").get<double>();
  requirement.hard = object.value("hard", false) ? 1 : 0;
  requirement.at_most = object.value("at_most", false) ? 1 : 0;
  return requirement;
}

bool is_same(const ses_core_requirement &a, const ses_core_requirement &b) {
  return a.kind == b.kind && a.hard == b.hard && a.at_most == b.at_most && a.bound == b.bound &&
         a.weight == b.weight;
}

Need need_of(const json &object) {
  Need need;
  need.application = text_field(object, "application");
  need.core.bytes = -1;
  need.core.room = number_field(object, "room_bytes").value_or(-1);
  for (const json &entry : object.at("requirements")) {
    const ses_core_requirement requirement = requirement_of(entry);
    if (need.core.count < SES_REQUIREMENTS_MAX && is_sensible(requirement)) {
      need.core.requirements[need.core.count++] = requirement;
      need.requirements.push_back(text_of(entry));
    }
  }
  need.digest = ses_segment_hash(text_of(object).c_str());
  need.digest = need.digest != 0 ? need.digest : 1;
  return need;
}

} // namespace

bool is_sensible(const ses_core_requirement &requirement) {
  return is_kind(requirement.kind) && requirement.bound >= 0 &&
         requirement.bound <= SES_BOUND_MAX && requirement.weight > 0 &&
         requirement.weight <= SES_WEIGHT_MAX;
}

const Need *UserNeeds::of(const std::string &application) const {
  const Need *general = nullptr;
  for (const Need &need : needs) {
    if (need.application == application) {
      return &need;
    }
    general = need.application.empty() ? &need : general;
  }
  return general;
}

const Need *UserNeeds::with(uint64_t digest) const {
  const auto match = std::find_if(needs.begin(), needs.end(),
                                  [&](const Need &need) { return need.digest == digest; });
  return match == needs.end() ? nullptr : &*match;
}

NeedsByUser parse_needs(const json &entries) {
  std::map<std::string, std::shared_ptr<UserNeeds>> users;
  for (const json &entry : entries) {
    auto &user = users[text_field(entry, "user")];
    if (!user) {
      user = std::make_shared<UserNeeds>();
      user->generation = text_field(entry, "generation");
    }
    user->needs.push_back(need_of(entry));
  }
  return {users.begin(), users.end()};
}

ses_core_need merge(const Need *need, const std::vector<Requirement> &stated,
                    std::optional<int64_t> expected_bytes, uint32_t stripes, uint32_t &kept) {
  std::vector<ses_core_requirement> own;
  for (const Requirement &requirement : stated) {
    const double unit = requirement.kind == SES_KIND_FREE_CAPACITY ? kGigabyte : kMegabyte;
    own.push_back({requirement.kind, static_cast<uint16_t>(requirement.hard ? 1 : 0), 0,
                   requirement.minimum * unit, requirement.weight});
  }
  ses_core_need merged{}, nothing{};
  nothing.room = -1;
  kept = ses_core_merge(&merged, own.data(), static_cast<uint32_t>(own.size()),
                        need != nullptr ? &need->core : &nothing);
  merged.bytes = expected_bytes ? static_cast<double>(*expected_bytes) : -1;
  merged.stripes = stripes;
  return merged;
}

json requirement_json(const ses_core_requirement &requirement, const Need *need) {
  for (uint32_t i = 0; need != nullptr && i < need->core.count; ++i) {
    if (is_same(requirement, need->core.requirements[i])) {
      return json::parse(need->requirements[i]);
    }
  }
  const bool capacity = requirement.kind == SES_CORE_FREE;
  return {{"kind", kind_name(requirement.kind)},
          {"code", requirement.kind},
          {"bound", requirement.bound},
          {"weight", requirement.weight},
          {"hard", requirement.hard != 0},
          {"at_most", requirement.at_most != 0},
          {"unit", capacity ? "GB" : "MB/s"},
          {"size", capacity ? kGigabyte : kMegabyte},
          {"level", "explicit"},
          {"level_name", "request"},
          {"profile", nullptr}};
}

} // namespace ses::agent
