// The loop that answers programs: one thread, never waiting for anything but the next event.
//
// A connection is one question (ses/protocol.h): ask, answer, report.  Whoever sends something
// else, or nothing in time, is dropped.  Who asks is taken from SO_PEERCRED; a report counts only
// for the placement dealt on the same connection, so nobody can end or claim somebody else's.
#ifndef SES_AGENT_SOCKET_SERVER_H
#define SES_AGENT_SOCKET_SERVER_H

#include <sys/socket.h>

#include <map>
#include <memory>
#include <optional>
#include <set>
#include <unordered_map>
#include <utility>

#include "booker.h"
#include "reporter.h"
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
    const Systems &systems;
    const ServiceHealth &health;
    Booker &booker;
    Reporter &reporter;
    Watcher &watcher;
  };

  explicit SocketServer(const Parts &parts);

  // Answers until a stop signal arrives.  False when it could not even begin.
  [[nodiscard]] bool run();
  // Hands back every placement that no program reported as used, the booker's last results too.
  void give_everything_back();

private:
  enum class State { kAwaitAsk, kAwaitTicket, kAwaitReport };
  struct Connection {
    UniqueFd fd;
    ucred peer{};
    State state = State::kAwaitAsk;
    Clock::time_point deadline;
    Ask ask;
    std::optional<TicketKey> key; // while it waits
    std::optional<Placement> dealt;
  };
  using Id = uint64_t;

  void accept_all();
  void on_readable(Id id);
  // False when the connection is gone.
  bool on_message(Id id, std::span<const std::byte> message);
  bool on_ask(Id id, Ask ask);
  bool on_report(Id id, const Report &report);
  void created(const Connection &connection, const Placement &placement, const Report &report);
  void answer(Id id, ses_answer_status status);
  bool deal(Id id, const Placement &placement);
  void collect_bookings();
  void drop(Id id);
  void drop_overdue();
  void set_deadline(Id id, Connection &connection, std::chrono::milliseconds from_now);
  [[nodiscard]] int milliseconds_to_next() const;
  [[nodiscard]] TicketCache::Callbacks callbacks();

  const Parts parts_;
  const UniqueFd epoll_;
  TicketCache tickets_;
  Id next_id_;
  std::unordered_map<Id, Connection> connections_;
  std::set<std::pair<Clock::time_point, Id>> deadlines_;
  std::map<uid_t, unsigned> connections_of_;
  bool said_full_ = false;
};

} // namespace ses::agent

#endif // SES_AGENT_SOCKET_SERVER_H
