// What files of a user's applications need, as the service resolved it ("needs" of an
// announcement's answer).
//
// Pure: no network, clock or log.
#ifndef SES_AGENT_NEEDS_H
#define SES_AGENT_NEEDS_H

#include <cstdint>
#include <map>
#include <memory>
#include <nlohmann/json_fwd.hpp>
#include <optional>
#include <string>
#include <vector>

#include "protocol/wire.h"
#include "ses/core.h"

namespace ses::agent {

struct Need {
  std::string application; // empty: any without an own entry
  uint64_t digest = 0;     // of all that it says; never 0
  ses_core_need core{};
  std::vector<std::string> requirements; // those of CORE as JSON, as the service sent them
};

struct UserNeeds {
  std::string generation; // a digest of the service's; empty: it has sent none
  std::vector<Need> needs;
  // That of APPLICATION, else the default one; null: there is neither.
  [[nodiscard]] const Need *of(const std::string &application) const;
  // The one with this digest; null: there is none.
  [[nodiscard]] const Need *with(uint64_t digest) const;
};

using NeedsByUser = std::map<std::string, std::shared_ptr<const UserNeeds>>;

// Whether it is of a kind the core knows, with numbers within ses/limits.h.
[[nodiscard]] bool is_sensible(const ses_core_requirement &requirement);

// The needs of each user named in ENTRIES, without what is not sensible of them; "" is the site's
// default.  Throws an exception of nlohmann::json or std::invalid_argument on invalid input.
[[nodiscard]] NeedsByUser parse_needs(const nlohmann::json &entries);

// ses_core_merge() of what a program states itself and NEED (null: none); KEPT is what that gives.
[[nodiscard]] ses_core_need merge(const Need *need, const std::vector<Requirement> &stated,
                                  std::optional<int64_t> expected_bytes, uint32_t stripes,
                                  uint32_t &kept);

// REQUIREMENT as JSON: as NEED (null: none) holds it when it is one of its own, else as one a
// program stated.
[[nodiscard]] nlohmann::json requirement_json(const ses_core_requirement &requirement,
                                              const Need *need);

} // namespace ses::agent

#endif // SES_AGENT_NEEDS_H
