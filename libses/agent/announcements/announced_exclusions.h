// The elements reported to the service to which no file of this node can go: only changes are
// sent.  For one thread.
#ifndef SES_AGENT_ANNOUNCED_EXCLUSIONS_H
#define SES_AGENT_ANNOUNCED_EXCLUSIONS_H

#include <map>
#include <memory>
#include <string>
#include <vector>

#include "table/exchange.h"

namespace ses::agent {

class AnnouncedExclusions {
public:
  // Takes out of TABLES what was reported.
  void leave_out_reported(std::vector<TableWanted> &tables) const {
    for (TableWanted &table : tables) {
      const auto reported = reported_.find(table.system);
      if (table.excluded && reported != reported_.end() && *reported->second == *table.excluded) {
        table.excluded = nullptr;
      }
    }
  }

  // TABLES were announced.  KNOWN: the service knew this node before.
  void reported(const std::vector<TableWanted> &tables, bool known) {
    if (!known) { // it has perhaps forgotten what was left out
      reported_.clear();
      return;
    }
    for (const TableWanted &table : tables) {
      if (table.excluded) {
        reported_[table.system] = table.excluded;
      }
    }
  }

private:
  std::map<std::string, std::shared_ptr<const Exclusions>> reported_; // by system
};

} // namespace ses::agent

#endif // SES_AGENT_ANNOUNCED_EXCLUSIONS_H
