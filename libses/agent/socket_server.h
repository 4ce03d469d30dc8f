// The loop that answers programs: one thread, never waiting for anything but the next event.  Users
// take turns, and one who asks more than a program could is turned away at once, so that nobody who
// floods the agent keeps the others waiting.
//
// A connection is one question (ses/protocol.h): ask, answer, report.  Whoever sends something
// else, or nothing in time, is dropped.  Who asks is taken from SO_PEERCRED; a report counts only
// for the placement dealt on the same connection, so nobody can end or claim somebody else's.
#ifndef SES_AGENT_SOCKET_SERVER_H
#define SES_AGENT_SOCKET_SERVER_H

#include <chrono>
#include <cstddef>
#include <span>
#include <vector>

#include "announcer.h"
#include "booker.h"
#include "connections.h"
#include "descriptors.h"
#include "plan_keeper.h"
#include "rate_limit.h"
#include "returns.h"
#include "service_health.h"
#include "systems.h"
#include "tickets.h"
#include "unique_fd.h"
#include "watcher.h"

namespace ses::agent {

class SocketServer {
public:
  struct Parts {
    int listener;            // listening SEQPACKET socket, non-blocking
    int stop_signals;        // signalfd: whatever arrives there ends run()
    size_t most_connections; // half of them of one uid
    std::chrono::milliseconds answer_limit;
    unsigned asks_per_second; // of one uid; those beyond are turned away
    const Systems &systems;
    ServiceHealth &health;
    Detached &detached;
    Booker &booker;
    Announcer &announcer;
    Watcher &watcher;
    const Returns &returns;
    PlanKeeper *plans; // null: without
  };

  explicit SocketServer(const Parts &parts);

  // Answers until a stop signal arrives.  False when it could not even begin.
  [[nodiscard]] bool run();
  // Hands back every placement that no program reported as used, the booker's last results too.
  void give_everything_back();

private:
  using State = Connection::State;
  using Id = Connections::Id;

  void accept_some();
  void serve_in_turn(std::vector<Id> ready);
  void on_readable(Id id);
  // HANDLE is what came along; it counts only with a report.
  void on_message(Id id, std::span<const std::byte> message, UniqueFd handle);
  void on_ask(Id id, Ask ask);
  void place(Id id);
  void look_is_over();
  void on_report(Id id, const Report &report, UniqueFd handle);
  void created(const Connection &connection, const Placement &placement, const Report &report,
               UniqueFd handle);
  void answer(Id id, ses_answer_status status);
  [[nodiscard]] bool can_place_on(const std::string &system) const;
  bool deal(Id id, const Placement &placement);
  void collect_bookings();
  void drop(Id id);
  void drop_overdue();
  // A program waits so long for the service before the agent begins to choose itself.
  [[nodiscard]] std::chrono::milliseconds hurry_after() const {
    return parts_.answer_limit * 2 / 3;
  }
  [[nodiscard]] std::chrono::milliseconds patience(const std::string &system) const {
    return parts_.detached.ready(system) ? hurry_after() : parts_.answer_limit;
  }
  [[nodiscard]] int milliseconds_to_next() const;
  [[nodiscard]] TicketCache::Callbacks callbacks();

  const Parts parts_;
  const UniqueFd epoll_;
  TicketCache tickets_;
  Connections connections_;
  std::vector<Id> await_look_; // some of them have gone
  DescriptorBin bin_;
  RateLimit limit_;
  bool said_full_ = false, said_flooded_ = false;
};

} // namespace ses::agent

#endif // SES_AGENT_SOCKET_SERVER_H
