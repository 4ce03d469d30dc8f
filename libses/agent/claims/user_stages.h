// Where files of each user can be staged now: the staging directories of the branches.
//
// Belongs to the loop, as the claims do.
#ifndef SES_AGENT_USER_STAGES_H
#define SES_AGENT_USER_STAGES_H

#include <chrono>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "announcements/announcer.h"
#include "systems/stager.h"
#include "table/table_manager.h"

namespace ses::agent {

class UserStages {
public:
  using Time = std::chrono::steady_clock::time_point;
  struct Parts {
    TableManager &table;
    Announcer &announcer;
    Stager &stager;
  };
  explicit UserStages(const Parts &parts) : parts_(parts) {}

  // Has the directories of UID made where they are not, and tried again where that failed.
  void prepare(uid_t uid, Time now);
  void remove(uid_t uid);
  // A create of UID on TARGET failed.  What only passes with time (no space, quota, rights, no hard
  // links) leaves the branch out for this user for a while, and for nobody else: a program may say
  // anything.  After other errors its staging directory is looked at.
  void failed(uid_t uid, const std::string &target, int error, Time now);
  // The staging directory of UID on TARGET is not where it was; nullopt: on all branches on which
  // it was there.  IS_REPORTED: as a program says, to which it may be hidden; where it was there
  // all the same, the next report is passed over for a while.
  void prepare_again(uid_t uid, const std::optional<std::string> &target, Time now,
                     bool is_reported);
  void take(const Stager::Result &result, Time now);
  // Rows of SYSTEM on which files of UID cannot be staged now.  IS_FINAL: nobody tries just now.
  [[nodiscard]] uint64_t not_staged(uid_t uid, unsigned system, bool &is_final) const;
  // Reports to the service which users' files cannot go to which branches, where that changed, or
  // where the rows did (ROWS_CHANGED).
  void announce_unusable(bool rows_changed);

private:
  enum class State { kWaiting, kThere, kFailed };
  struct Stage {
    State state = State::kWaiting;
    Time since{};
    bool is_reported = false;
    Time spared_until{};
    std::string why; // it was not usable when it was tried last
    Stager::Branch branch{};
  };

  void set_trouble(Stage &stage, const std::string &why);

  const Parts parts_;
  std::map<uid_t, std::map<std::string, Stage>> stages_; // by branch
  bool has_changed_ = false;                             // what is unusable
};

} // namespace ses::agent

#endif // SES_AGENT_USER_STAGES_H
