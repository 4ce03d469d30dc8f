// The users of this node: who has claims and what their files need; and the claims themselves, from
// the first look on.
//
// Belongs to the socket's loop, which calls tick() when it is due.  While programs make claims that
// is every five milliseconds, or without pause on a core of its own.  Otherwise the agent sleeps
// between two signs of life of the table.  Those are given here and nowhere else, so that a loop
// that is stuck looks stuck.
#ifndef SES_AGENT_CLAIMS_MANAGER_H
#define SES_AGENT_CLAIMS_MANAGER_H

#include <chrono>
#include <map>
#include <memory>
#include <set>
#include <string>
#include <vector>

#include "announcements/announcer.h"
#include "claims/claimed_files.h"
#include "claims/doorbell.h"
#include "claims/user_claims.h"
#include "claims/user_stages.h"
#include "processes/survey.h"
#include "service/health.h"
#include "systems/stager.h"
#include "table/exchange.h"
#include "table/saved_state.h"
#include "table/table_manager.h"

namespace ses::agent {

class ClaimsManager {
public:
  using Time = std::chrono::steady_clock::time_point;
  struct Parts {
    TableManager &table;
    UserStages &stages;
    ClaimedFiles &files;
    ServiceHealth &health;
    Announcer &announcer;
    Exchange &exchange;
    Doorbell &doorbell;
    Survey &survey;
    bool polls; // has a core for itself: never sleeps, so that no program has to wake it
  };

  explicit ClaimsManager(const Parts &parts) : parts_(parts) {}

  // Takes over the users and claims of the agent whose table this is.
  void adopt(Time now);
  void apply_saved(SavedNeeds needs);
  void apply(const ServiceUpdate &update, Time now);
  void staged(const std::vector<Stager::Result> &results, Time now);

  // UID asks over the socket: it is a user of this node.
  void asked(uid_t uid, Time now);
  // What the service sent; null: nothing about this user yet.
  [[nodiscard]] std::shared_ptr<const UserNeeds> needs_of(uid_t uid) const;
  // What is to be taken instead; null: nothing is known.
  [[nodiscard]] std::shared_ptr<const UserNeeds> site_needs() const { return site_needs_; }
  // Rows of SYSTEM on which files of UID cannot be staged now.  IS_FINAL: nobody tries just now.
  [[nodiscard]] uint64_t not_staged(uid_t uid, unsigned system, bool &is_final) const {
    return parts_.stages.not_staged(uid, system, is_final);
  }
  // A create of UID on TARGET failed (user_stages.h).
  void failed(uid_t uid, const std::string &target, int error, Time now);
  // The staging directories of all users on TARGET are not where they were.
  void stage_again(const std::string &target, Time now);

  // When tick() is due.
  [[nodiscard]] Time due() const { return due_; }
  void tick(Time now);
  // Takes what is still claimed within LIMIT, and removes the segments and the table, except where
  // a program has still to say what became of a claim: those wait for the next agent.
  void stop(std::chrono::milliseconds limit);

private:
  struct User {
    std::unique_ptr<UserClaims> claims;
    std::shared_ptr<const UserNeeds> needs, needs_before;
    Time seen_at{};
    Time refused_until{}; // no segment can be had
  };

  void open(uid_t uid, User &user, Time now);
  void close(uid_t uid, User &user);
  void publish_needs(User &user);
  void review(Time now);
  void take_survey(Time now);
  void show_staged(uid_t uid);
  // Looks at the claims of all users; true when there were some.
  bool look(Time now);
  size_t read(User &user, Time now);
  void take(User &user, Claim claim, Time now);

  const Parts parts_;
  std::map<uid_t, User> users_;
  std::map<uid_t, std::shared_ptr<const UserNeeds>> saved_; // of users not seen yet
  std::shared_ptr<const UserNeeds> site_needs_;
  uint64_t generation_ = 0; // of the table, as of the last look at stages
  Time due_{}, beaten_at_{}, reviewed_at_{}, busy_until_{};
  // Programs wake the agent when this is past: those of other users see a claim only after a look.
  // Where they do it faster, with claims or without, it looks each tick.
  Time rings_until_{};
  bool armed_ = false; // when the last tick ended
  bool has_changes_ = false, was_busy_ = false;
  bool logged_no_segment_ = false, logged_many_ = false;
};

} // namespace ses::agent

#endif // SES_AGENT_CLAIMS_MANAGER_H
