// Decides where the file goes that a program asks about, once what is needed for it is known.
#ifndef SES_AGENT_CHOOSER_H
#define SES_AGENT_CHOOSER_H

#include <optional>
#include <random>
#include <variant>

#include "announcements/announcer.h"
#include "claims/claims_manager.h"
#include "lustre/health.h"
#include "server/connections.h"
#include "service/health.h"
#include "systems/systems.h"
#include "table/table_manager.h"

namespace ses::agent {

class Chooser {
public:
  struct Parts {
    const Systems &systems;
    const LustreHealth &lustre;
    ses_lustre_form lustre_form; // of OSTs
    ServiceHealth &health;
    Announcer &announcer;
    TableManager &table;
    ClaimsManager &claims;
  };
  explicit Chooser(const Parts &parts) : parts_(parts) {}

  // Nothing: something is still to come that makes the answer better, unless IS_FINAL: what is not
  // known now is done without.
  [[nodiscard]] std::optional<std::variant<ses_answer_status, Placement>>
  choose(const Connection &connection, bool is_final);

private:
  [[nodiscard]] bool has_to_wait(const Connection &connection, Systems::Answer known,
                                 const StorageSystem &system);
  [[nodiscard]] std::optional<Placement> place(const Connection &connection,
                                               const StorageSystem &system);

  const Parts parts_;
  std::mt19937_64 random_{std::random_device{}()};
};

} // namespace ses::agent

#endif // SES_AGENT_CHOOSER_H
