// What the service answers to an announcement
// (POST /v1/nodes/{node}/announcements of ses-service/openapi.yaml).
//
// Pure: parses the reply; no network, clock or log.  A reply without its members is refused as a
// whole; what is wrong of one file, table or user is passed over.
#ifndef SES_AGENT_ANNOUNCEMENT_REPLY_H
#define SES_AGENT_ANNOUNCEMENT_REPLY_H

#include <chrono>
#include <cstdint>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "service/needs.h"
#include "table/table_answer.h"

namespace ses::agent {

// What makes it a place: which process of its number it lasts as long as.
struct LedgerPlace {
  uint64_t started = 0;       // in ticks since boot
  uint64_t pid_namespace = 0; // inode
  bool own_directory = false; // it was made for the place
  double seconds = 0;         // since it was given
};

// What the service's ledger holds open for this node.
struct LedgerFile {
  uint64_t placement_id = 0;
  std::string user;
  uint64_t device = 0;
  uint64_t inode = 0;
  std::string path; // empty: not known
  int pid = 0;      // 0: not known
  std::optional<LedgerPlace> place;
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

// None: BODY is no reply.
[[nodiscard]] std::optional<AnnouncementReply> parse_announcement_reply(const std::string &body);

} // namespace ses::agent

#endif // SES_AGENT_ANNOUNCEMENT_REPLY_H
