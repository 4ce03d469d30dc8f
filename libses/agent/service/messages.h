// The JSON of ses-service's contract (ses-service/openapi.yaml), as far as the agent speaks it.
//
// Pure: builds bodies and reads replies; no network.  A reply that is not JSON, lacks a field or
// has one of another type or out of range is refused as a whole.
#ifndef SES_AGENT_SERVICE_MESSAGES_H
#define SES_AGENT_SERVICE_MESSAGES_H

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "protocol/wire.h"
#include "service/json.h" // format_id

namespace ses::agent {

struct StorageSystem {
  std::string name;
  uint32_t backend = SES_BACKEND_NONE; // enum ses_backend
  std::string mount_point;
  bool operator==(const StorageSystem &) const = default;
};

// Those on which files are placed; others, of whatever form they are, are left out.
[[nodiscard]] std::optional<std::vector<StorageSystem>>
parse_storage_systems(const std::string &body);
// What a problem document says went wrong, on one line; empty when BODY is none.
[[nodiscard]] std::string problem_detail(const std::string &body);

} // namespace ses::agent

#endif // SES_AGENT_SERVICE_MESSAGES_H
