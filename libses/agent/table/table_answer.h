// What the service sends of the candidates of one storage system ("tables" of an announcement's
// answer, ses-service/openapi.yaml).
//
// Pure: no network, clock or log.
#ifndef SES_AGENT_TABLE_ANSWER_H
#define SES_AGENT_TABLE_ANSWER_H

#include <array>
#include <cstdint>
#include <limits>
#include <map>
#include <nlohmann/json_fwd.hpp>
#include <optional>
#include <string>
#include <vector>

#include "ses/core.h"

namespace ses::agent {

inline constexpr double kNotKnown = std::numeric_limits<double>::quiet_NaN();

// What does not change while a revision holds; rates in bytes per second, NaN: not known.
struct ElementFacts {
  std::string element;          // "system/element"
  std::string target;           // path of a branch, index of an OST, name of a pool
  std::string file_system;      // that a branch was described on; empty: not stated
  uint32_t number = UINT32_MAX; // its place in the site's own order
  uint32_t server = 0;
  bool scarce = false;
  double kept_for = 0; // as ses_core_element has it
  double read_rate = kNotKnown, write_rate = kNotKnown;
  double size = kNotKnown;
  double server_rate = kNotKnown; // of all elements of its server together
  std::array<float, SES_CORE_STATED> stated{};
};

// Own streams that ask for a rate of writing, the largest of these rates, and the largest that is
// hard; bytes per second.
struct Promises {
  double count = 0, rate = 0, hard = 0;
  // Of one file with NEED on this number of elements.
  static Promises of(const ses_core_need &need, size_t elements);
  void add(const Promises &more, double times);
};

// What changes, as of the service's last update of this row.
struct ElementLoad {
  double busy = kNotKnown, busy_average = kNotKnown;
  double foreign = 0, foreign_average = 0;
  double own = 0;
  double server_streams = 0; // own and foreign, on all elements of its server
  double free = kNotKnown, reserved = 0;
  double age = kNotKnown; // of the sample, seconds
  uint32_t state = 0;     // enum ses_core_state, ored
  uint64_t last_placed = 0;
  Promises promises;
};

struct TableAnswer {
  std::string system, revision;
  int64_t version = 0;
  double sent_at = 0;       // seconds since the epoch
  double total = 0;         // elements of the system
  double rate = 0;          // placements a second by other nodes
  double report_within = 0; // seconds other nodes leave between two reports
  double max_age = 0;       // seconds: an older sample is none
  ses_core_policy policy{};
  std::optional<std::vector<ElementFacts>> elements; // none: as before
  std::map<unsigned, ElementLoad> loads;             // by row
};

// Throws an exception of nlohmann::json or std::invalid_argument on: numbers out of range, more
// rows than a table has, a row that is not there.
[[nodiscard]] TableAnswer parse_table(const nlohmann::json &object);

// Puts the rows of CHANGE into KEPT, an answer with all rows; false when CHANGE is about another
// revision and does not say which elements that has.
bool merge_table(nlohmann::json &kept, nlohmann::json change);

} // namespace ses::agent

#endif // SES_AGENT_TABLE_ANSWER_H
