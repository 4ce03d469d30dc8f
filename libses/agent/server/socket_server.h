// The loop of the agent: one thread, never waiting for anything but the next event.  It answers
// programs that ask, and looks after the table and the claims when they are due.  Users take turns,
// and a user who asks more than a program could is turned away at once, so that one who floods the
// agent does not keep other users waiting.
//
// A connection is one question (ses/protocol.h): ask, answer, report.  A program that sends
// something else, or nothing in time, is dropped.  SO_PEERCRED identifies the caller; a report
// counts only for the placement given on the same connection, so nobody can end or claim a foreign
// one.
#ifndef SES_AGENT_SOCKET_SERVER_H
#define SES_AGENT_SOCKET_SERVER_H

#include <chrono>
#include <cstddef>
#include <optional>
#include <random>
#include <span>
#include <string>
#include <vector>

#include "announcements/announcer.h"
#include "claims/claims_manager.h"
#include "files/watcher.h"
#include "lustre/health.h"
#include "node/unique_fd.h"
#include "server/connections.h"
#include "server/descriptors.h"
#include "server/rate_limit.h"
#include "service/health.h"
#include "systems/systems.h"
#include "table/table_manager.h"

namespace ses::agent {

class SocketServer {
public:
  struct Parts {
    int listener;            // listening SEQPACKET socket, non-blocking
    int stop_signals;        // signalfd: whatever arrives there ends run()
    size_t most_connections; // half of them of one uid
    std::chrono::milliseconds answer_limit;
    unsigned asks_per_second;    // of one uid; those beyond are turned away
    ses_lustre_form lustre_form; // of OSTs
    const Systems &systems;
    const LustreHealth &lustre;
    ServiceHealth &health;
    Announcer &announcer;
    Exchange &exchange;
    Watcher &watcher;
    Finder &finder;
    Stager &stager;
    Doorbell &doorbell;
    TableManager &table;
    ClaimsManager &claims;
  };

  explicit SocketServer(const Parts &parts);

  // Answers until a stop signal arrives.  False when it could not even begin.
  [[nodiscard]] bool run();
  // Ends every conversation: what no program reported as used is not.
  void drop_all();

private:
  using State = Connection::State;
  using Id = Connections::Id;

  void accept_some();
  void serve_in_turn(std::vector<Id> ready);
  void on_readable(Id id);
  // HANDLE is what came along; it counts only with a report.
  void on_message(Id id, std::span<const std::byte> message, UniqueFd handle);
  void on_ask(Id id, Ask ask);
  // IS_FINAL: what is not known now is done without.
  void place(Id id, bool is_final);
  [[nodiscard]] bool is_waiting(Id id);
  void place_waiting();
  void take_updates();
  // What is still to come before CONNECTION can be answered well.
  [[nodiscard]] bool has_to_wait(const Connection &connection, Systems::Answer known,
                                 const StorageSystem &system);
  [[nodiscard]] std::optional<Placement> choose(const Connection &connection,
                                                const StorageSystem &system);
  void on_report(Id id, const Report &report, UniqueFd handle);
  void created(const Connection &connection, const Placement &placement, const Report &report,
               UniqueFd handle);
  void answer(Id id, ses_answer_status status);
  void give(Id id, const Placement &placement);
  void drop(Id id);
  void drop_overdue();
  [[nodiscard]] int milliseconds_to_next() const;

  const Parts parts_;
  const UniqueFd epoll_;
  Connections connections_;
  std::vector<Id> waiting_; // for a choice; some of them have gone
  std::mt19937_64 random_{std::random_device{}()};
  DescriptorBin bin_;
  RateLimit limit_;
  bool logged_full_ = false, logged_flooded_ = false;
};

} // namespace ses::agent

#endif // SES_AGENT_SOCKET_SERVER_H
