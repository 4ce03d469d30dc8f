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

#include "wire.h"

namespace ses::agent {

struct StorageSystem {
  std::string name;
  uint32_t backend = SES_BACKEND_NONE; // enum ses_backend; NONE: one this agent does not know
  std::string mount_point;
};

// What to book, for whom.
struct BookingRequest {
  std::string user;
  std::string application;
  std::string node;
  std::string system;
  std::vector<Requirement> requirements;
  std::optional<int64_t> expected_bytes;
  std::vector<std::string> exclude; // element ids
  unsigned count = 1;
};

enum class EndReason { kClosed, kExited, kUnused, kFailed };
[[nodiscard]] const char *name_of(EndReason reason);

// 16 lower-case hexadecimal digits.
[[nodiscard]] std::string format_id(uint64_t id);

[[nodiscard]] std::string booking_body(const BookingRequest &request);
// PATH may be empty: not known.
[[nodiscard]] std::string open_body(const std::string &path, uint64_t device, uint64_t inode,
                                    int pid);
[[nodiscard]] std::string end_body(EndReason reason, std::optional<uint64_t> bytes_written);

// None for rubbish.  Staging directories are left empty: they are made afterwards.
[[nodiscard]] std::optional<std::vector<Placement>> parse_placements(const std::string &body);
[[nodiscard]] std::optional<std::vector<StorageSystem>>
parse_storage_systems(const std::string &body);
// What a problem document says went wrong, on one line; empty when BODY is none.
[[nodiscard]] std::string problem_detail(const std::string &body);

} // namespace ses::agent

#endif // SES_AGENT_SERVICE_MESSAGES_H
