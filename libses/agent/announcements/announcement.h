// What the agent reports to the service about many files at once, and what the service answers
// (POST /v1/nodes/{node}/announcements of ses-service/openapi.yaml).
//
// Pure: builds the body and reads the reply; no network, clock or log.  A reply without its
// members is refused as a whole; what is wrong of one file, table or user is passed over.
#ifndef SES_AGENT_ANNOUNCEMENT_H
#define SES_AGENT_ANNOUNCEMENT_H

#include <chrono>
#include <cstdint>
#include <map>
#include <memory>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "node/heartbeat.h"
#include "rates/achieved.h"
#include "rates/reading.h"
#include "service/needs.h"
#include "table/choice.h"
#include "table/exchange.h"
#include "table/table_answer.h"

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

// What the service's ledger holds open for this node.
struct LedgerFile {
  uint64_t placement_id = 0;
  std::string user;
  uint64_t device = 0;
  uint64_t inode = 0;
  std::string path; // empty: not known
  int pid = 0;      // 0: not known
};

// What the service did not take of a list of an announcement, and is no file.
struct RefusedItem {
  std::string list;
  size_t index = 0;
  std::string detail;
};

struct AnnouncementReply {
  std::string instance;
  uint64_t stored = 0; // the number up to which announcements are stored
  std::chrono::milliseconds next_within{5000};
  std::chrono::milliseconds report_within{50};
  std::chrono::milliseconds return_within{0}; // to a service that all nodes lost
  std::vector<uint64_t> unknown;
  std::vector<std::pair<uint64_t, std::string>> refused; // with the reason
  std::vector<RefusedItem> refused_items;
  std::optional<std::vector<LedgerFile>> open; // none: nothing to compare
  std::vector<TableAnswer> tables;
  NeedsByUser needs;
  nlohmann::json kept_tables, kept_needs; // as the service sent them, those that are valid
  std::string nonsense;                   // what of those is invalid
};

[[nodiscard]] std::string announcement_path(const std::string &node);
[[nodiscard]] std::string announcement_body(const Announcement &announcement);
// Whose it is; empty: not known.
[[nodiscard]] std::string user_of_item(const Announcement &announcement, const RefusedItem &item);
[[nodiscard]] std::optional<AnnouncementReply> parse_announcement_reply(const std::string &body);

} // namespace ses::agent

#endif // SES_AGENT_ANNOUNCEMENT_H
