// Which entries a user's plan has.
//
// Pure.  The default entry serves every application that has none of its own, so it may be there
// only when all applications with requirements of their own are known and have an entry each; a
// program would go by the wrong requirements otherwise.
#ifndef SES_AGENT_PLAN_ENTRIES_H
#define SES_AGENT_PLAN_ENTRIES_H

#include <sys/types.h>

#include <set>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

#include "service_messages.h"
#include "wire.h"

namespace ses::agent {

struct PlanEntry {
  std::string application; // empty: the default entry
  std::string system;
  std::string mount_point;
  dev_t device = 0;
  std::vector<Requirement> requirements; // that programs state themselves
};

// What tickets are asked for: application, system, and what the program states itself.
using Asked = std::tuple<std::string, std::string, std::vector<Requirement>>;

[[nodiscard]] Asked subject_of(const PlanEntry &entry);

// On each of SYSTEMS that programs can place files on: the NEEDED applications, the default entry
// if ALL_KNOWN, and then what was ASKED for; no more than a plan holds.
[[nodiscard]] std::vector<PlanEntry>
entries_for(const std::vector<std::pair<dev_t, StorageSystem>> &systems,
            std::set<std::string> needed, bool all_known, const std::vector<Asked> &asked);

} // namespace ses::agent

#endif // SES_AGENT_PLAN_ENTRIES_H
