// What programs report about the places that were given to them.
#ifndef SES_AGENT_PLACEMENT_REPORTS_H
#define SES_AGENT_PLACEMENT_REPORTS_H

#include "claims/claims_manager.h"
#include "claims/finder.h"
#include "files/watcher.h"
#include "node/unique_fd.h"
#include "server/connections.h"
#include "systems/systems.h"
#include "table/table_manager.h"

namespace ses::agent {

class PlacementReports {
public:
  struct Parts {
    const Systems &systems;
    Watcher &watcher;
    Finder &finder;
    TableManager &table;
    ClaimsManager &claims;
  };
  explicit PlacementReports(const Parts &parts) : parts_(parts) {}

  // The program of CONNECTION used PLACEMENT, or could not.  HANDLE is what came along.
  void take(const Connection &connection, const Placement &placement, const Report &report,
            UniqueFd handle);
  // Nothing was reported about it: it is not used.
  void unused(const Placement &placement) { parts_.table.end(placement.id, false); }

private:
  void created(const Connection &connection, const Placement &placement, const Report &report,
               UniqueFd handle);

  const Parts parts_;
};

} // namespace ses::agent

#endif // SES_AGENT_PLACEMENT_REPORTS_H
