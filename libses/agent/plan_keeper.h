// All plans of this node: whose there are, which entries they have, when they are looked at.
//
// Belongs to the socket's loop, which calls tick() when it is due; the sign of life in each plan is
// given there and nowhere else, so a loop that is stuck looks stuck.  Without users on the node
// there is nothing to do, and nothing is done.
//
// An entry is published for each application, with what its programs state themselves, that was
// asked for lately, for each that has requirements of its own or that the job scheduler names, and
// the default entry (plan_entries.h).  Tickets for an
// OST or pool of Lustre that can no longer take files are withdrawn at the next tick.
#ifndef SES_AGENT_PLAN_KEEPER_H
#define SES_AGENT_PLAN_KEEPER_H

#include <atomic>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <set>
#include <string>
#include <vector>

#include "announcer.h"
#include "booker.h"
#include "detached.h"
#include "plan_entries.h"
#include "plan_finder.h"
#include "plan_survey.h"
#include "plan_user.h"
#include "returns.h"
#include "service_health.h"
#include "systems.h"

namespace ses::agent {

class PlanKeeper {
public:
  struct Parts {
    const std::string &socket_path;
    const Systems &systems;
    ServiceHealth &health;
    Detached &detached;
    Booker &booker;
    Announcer &announcer;
    const Returns &returns;
    PlanFinder &finder;
    PlanSurvey &survey;
  };
  using Applications = std::map<uid_t, std::vector<std::string>>;

  explicit PlanKeeper(const Parts &parts);

  // Takes over what an agent that was here before left.
  void adopt();
  // The applications with requirements of their own, of each user listed.  Any thread.
  void set_applications(const Applications &applications);
  // What was booked for these users is out of date and goes back.  Any thread.
  void requirements_changed(const std::vector<uid_t> &users);
  // The service knows that files of these users are closed; what was booked while they were open
  // stands on another load than there is.  Any thread.
  void files_closed(const std::vector<uid_t> &users);

  // KEY, without a size that is expected, was asked for over the socket.
  void asked(const TicketKey &key, Clock::time_point now);
  [[nodiscard]] std::optional<Placement> take(const TicketKey &key, Clock::time_point now);
  [[nodiscard]] bool put(const TicketKey &key, const Placement &placement, Clock::time_point now);
  // A file was created at PATH on DEVICE.
  void created(dev_t device, const std::string &path);
  // The end of a booking for a plan; what waits for its tickets has got its share.
  void booked(BookingResult result, Clock::time_point now);
  // Nothing can be placed on ELEMENT.
  void unusable(const std::string &element, Clock::time_point now);

  // When tick() is due; far away when there is nothing to do.
  [[nodiscard]] Clock::time_point due() const { return due_; }
  void tick(Clock::time_point now);
  // Takes everything back, reads what is still reported within LIMIT, and removes the segments,
  // except those a program has still to report to: they wait for the next agent.
  void stop(std::chrono::milliseconds limit);

private:
  using Time = Clock::time_point;
  using Unusable = std::function<bool(const std::string &system, const Placement &)>;
  struct Known {                                          // of a user
    std::optional<std::vector<std::string>> applications; // with requirements of their own
    std::set<std::string> of_jobs;
    std::map<Asked, Time> asked;
    Time seen_at{};       // on the node, or asking
    Time refused_until{}; // no segment can be had
    std::unique_ptr<PlanUser> plan;
  };

  [[nodiscard]] PlanUser::Outlet outlet();
  [[nodiscard]] bool book(const TicketKey &key, unsigned count, bool ahead);
  void take_news(Time now);
  void withdraw(const Unusable &is_unusable, Time now);
  [[nodiscard]] bool has_trouble(const std::string &system, const Placement &placement) const;
  void review(Time now);
  void open_plan(uid_t uid, Known &known, Time now);
  void leave(Known &known, Time now, bool removed);
  [[nodiscard]] std::vector<PlanEntry> wanted(const Known &known) const;
  void look_at_plans(Time now);
  [[nodiscard]] PlanUser *plan_of(uid_t uid);
  [[nodiscard]] std::chrono::milliseconds idle_life() const;

  const Parts parts_;
  const uint64_t socket_hash_;
  const uint64_t instance_;
  const PlanUser::Outlet outlet_;
  std::map<uid_t, Known> users_;
  std::vector<std::unique_ptr<PlanUser>> leaving_;
  size_t plans_ = 0, entries_ = 0;
  uid_t last_turn_ = 0;
  bool has_news_ = false;
  Time due_{}, reviewed_at_{}, beaten_at_{}, looked_at_all_at_{};
  bool said_no_segment_ = false, said_many_ = false;
  // Set on the thread that looks at Lustre, which may outlive this.
  const std::shared_ptr<std::atomic<bool>> lustre_changed_;

  std::mutex mutex_; // guards the three below
  std::unique_ptr<Applications> applications_;
  std::set<uid_t> changed_;
  std::set<uid_t> closed_;
};

} // namespace ses::agent

#endif // SES_AGENT_PLAN_KEEPER_H
