// Where the elements of a storage system are on this node, and which of them can take no file now.
//
// No thread, no clock; asks LustreHealth and UnionHealth, which never wait.
#ifndef SES_AGENT_PLACES_H
#define SES_AGENT_PLACES_H

#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "lustre/health.h"
#include "ses/table.h"
#include "systems/union_health.h"
#include "table/candidates.h"
#include "table/exchange.h"

namespace ses::agent {

struct Places {
  std::vector<ses_table_place> rows;
  bool known = false;           // the system was looked at
  uint64_t excluded = 0;        // bit r: no file of anybody can go to row r
  std::vector<std::string> why; // by row: empty, or why it is excluded
  bool of_lustre = false;
};

// FORM: how OSTs are written.  All rows are excluded of a system that this agent cannot place on,
// and of one that was not looked at yet.
[[nodiscard]] Places places_of(const StorageSystem &system, const TableFacts &facts,
                               const LustreHealth &lustre, const UnionHealth &unions,
                               ses_lustre_form form);

// On Lustre, the OSTs of files that go to ROWS (bit r: row r).
[[nodiscard]] std::vector<uint16_t> osts_of(const Places &places, uint64_t rows);

// What an earlier agent left in the table of SYSTEM.
[[nodiscard]] TableFacts left_in(const ses_table_system &system);

// Logs which elements of a union take no file, and why, where that is not what was LOGGED of them.
void log_changes(const TableFacts &facts, const Places &places,
                 std::map<std::string, std::string> &logged);

// Those excluded, as announced to the service, with OF_USERS; null: the system was not looked at.
[[nodiscard]] std::shared_ptr<const Exclusions>
exclusions_of(const TableFacts &facts, const Places &places, const Exclusions &of_users);

[[nodiscard]] bool same_rows(const Places &a, const Places &b);

} // namespace ses::agent

#endif // SES_AGENT_PLACES_H
