// What the agent reports to the service about many files at once
// (POST /v1/nodes/{node}/announcements of ses-service/openapi.yaml).
//
// Pure: builds the body; no network, clock or log.
#ifndef SES_AGENT_ANNOUNCEMENT_H
#define SES_AGENT_ANNOUNCEMENT_H

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "announcements/announcement_reply.h"
#include "node/heartbeat.h"
#include "rates/achieved.h"
#include "rates/reading.h"
#include "table/choice.h"
#include "table/exchange.h"

namespace ses::agent {

enum class EndReason { kClosed, kExited, kUnused, kFailed, kLost };
[[nodiscard]] const char *name_of(EndReason reason);

// How a placement came about: enough to put it into the ledger of a service that does not know it.
struct Origin {
  std::vector<std::string> elements; // "system/element", in the order of stripes
  double placed_at = 0;              // seconds since the epoch
  std::optional<int64_t> expected_bytes;
  double distance = 0;
  const char *decided_by = "agent"; // or "program"
  std::vector<std::string> notes;   // what a person should know about the decision
};

// A file that was created as a placement says.
struct OpenedFile {
  uint64_t placement_id = 0;
  std::string path; // empty: not known
  uint64_t device = 0;
  uint64_t inode = 0;
  int pid = 0;                          // 0: not known
  double opened_at = 0;                 // seconds since the epoch
  std::string application;              // empty: not known
  std::string job;                      // empty: none
  std::shared_ptr<const Origin> origin; // null: not known, as the next
  std::shared_ptr<const Choice> choice;
  bool idle = false;
  uint64_t bytes = 0; // so far; 0: few, or not known
  bool closed = false;
};

struct EndedFile {
  uint64_t placement_id = 0;
  EndReason reason = EndReason::kClosed;
  std::optional<uint64_t> bytes_written;
  std::string path;                                   // empty: not known
  std::shared_ptr<const Achieved> achieved = nullptr; // null: it was not followed
};

struct Announcement {
  struct Opened {
    const OpenedFile *file = nullptr;
    std::string user;
    bool restore = false; // with its origin, for a service that does not know the placement
  };
  struct Ended {
    const EndedFile *file = nullptr;
    std::string user;
  };
  std::string incarnation; // 16 hexadecimal digits
  uint64_t number = 0;     // higher than that of the one before
  std::vector<Opened> opened;
  std::vector<Ended> ended;
  bool complete = false; // OPENED is all that is open on this node
  std::vector<std::string> users;
  std::map<std::string, std::string> generations; // by user: that of the needs known here
  std::vector<TableWanted> tables;
  std::map<uid_t, std::string> names; // of the users that TABLES speak of
  bool busy = false;                  // programs that can make claims run here
  bool in_use = false;                // some began, or files were created, a short while ago
  std::optional<std::vector<Reading>> reading; // none: as it was reported before
  std::vector<StalledThread> stalled;
};

[[nodiscard]] std::string announcement_path(const std::string &node);
[[nodiscard]] std::string announcement_body(const Announcement &announcement);
// Whose it is; empty: not known.
[[nodiscard]] std::string user_of_item(const Announcement &announcement, const RefusedItem &item);

} // namespace ses::agent

#endif // SES_AGENT_ANNOUNCEMENT_H
