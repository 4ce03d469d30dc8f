// Files that programs claim to have created, put beside the choice they were made from, on their
// way to the finder.
#ifndef SES_AGENT_CLAIMED_FILES_H
#define SES_AGENT_CLAIMED_FILES_H

#include <chrono>
#include <memory>
#include <vector>

#include "announcements/announcer.h"
#include "claims/claimed_file.h"
#include "claims/finder.h"
#include "claims/user_stages.h"
#include "service/health.h"
#include "systems/systems.h"
#include "table/table_manager.h"

namespace ses::agent {

class ClaimedFiles {
public:
  using Time = std::chrono::steady_clock::time_point;
  struct Parts {
    TableManager &table;
    const Systems &systems;
    const UserStages &stages;
    ServiceHealth &health;
    Announcer &announcer;
    Finder &finder;
  };
  // Whose claim it is, the placement it becomes, and what the user's files need and needed before.
  struct Of {
    uid_t uid;
    uint64_t placement;
    const std::shared_ptr<const UserNeeds> &needs, &needs_before;
  };
  explicit ClaimedFiles(const Parts &parts) : parts_(parts) {}

  // A file was created by CLAIM, whose rows are rows of FACTS.
  void take(const Of &user, std::shared_ptr<const TableFacts> facts, Claim claim, Time now);
  // What was taken goes to the finder.
  void hand_on();

private:
  [[nodiscard]] std::shared_ptr<const Choice> choice_of(const Of &user, const Claim &claim,
                                                        Time now) const;

  const Parts parts_;
  std::vector<ClaimedFile> files_; // in the look under way
};

} // namespace ses::agent

#endif // SES_AGENT_CLAIMED_FILES_H
