// How a place was chosen: the table that was looked at, what for, and what came of it.
//
// A program reports of a choice only what it saw of each row; the rest is worked out again from the
// rows of the epoch that it names.  Pure.
#ifndef SES_AGENT_CHOICE_H
#define SES_AGENT_CHOICE_H

#include <array>
#include <cstdint>
#include <memory>
#include <nlohmann/json_fwd.hpp>
#include <string>
#include <vector>

#include "service/needs.h"
#include "ses/table.h"
#include "table/candidates.h"

namespace ses::agent {

// A system as it stood in the table for a while.
struct Epoch {
  uint64_t number = 0;
  std::shared_ptr<const TableFacts> facts;
  std::vector<ses_core_element> elements;
  std::vector<double> ages; // of samples that count, in seconds, when it was published; NaN: none
  ses_core_policy policy{};
  int64_t version = 0;
  Candidates::Time asked_at{};  // when the service was asked for it
  Candidates::Time published{}; // to the table
};

struct Choice {
  std::shared_ptr<const Epoch> epoch;
  std::shared_ptr<const UserNeeds> needs; // null: the service has sent none
  uint64_t digest = 0;                    // of the need of those; 0: none
  ses_core_need need{};
  uint32_t stated = 0; // number of the first requirements, which the program stated itself
  std::array<uint16_t, SES_TABLE_ELEMENTS> seen{}; // own streams by row
  Held held;                                       // of each row then; null: as in the epoch
  uint64_t excluded = 0;                           // rows the user's files cannot go to
  std::vector<uint8_t> rows;                       // chosen, in the order of stripes
  uint32_t first = 0, candidate_limit = 0;         // see struct ses_core_query
  ses_rank rank{};                                 // of the program in its job
  Candidates::Time decided{};                      // what ages are counted from
  double decided_at = 0;                           // seconds since the epoch, to be reported
  bool offline = false;                            // no service answered then
  std::string application;
};

// The distance of the first row chosen.
[[nodiscard]] double distance_of(const Choice &choice);
// Bytes that are to be free where the file goes: its size or, where nobody knows that, what is
// ample.
[[nodiscard]] double least_free_of(const Choice &choice);
// What was predicted for the rows chosen, together.
[[nodiscard]] ses_core_offer predicted(const Choice &choice);
// The decision as an announcement has it, without its id.
[[nodiscard]] nlohmann::json decision_json(const Choice &choice);
// Decisions alike but for the number in the batch: those of one application from one epoch for one
// need.
[[nodiscard]] bool share_decision(const Choice &a, const Choice &b);

} // namespace ses::agent

#endif // SES_AGENT_CHOICE_H
