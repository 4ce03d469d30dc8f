// Answers programs that ask, in the thread of the loop (loop.h).  Users take turns,
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
#include <span>
#include <vector>

#include "node/unique_fd.h"
#include "server/chooser.h"
#include "server/connections.h"
#include "server/descriptors.h"
#include "server/placement_reports.h"
#include "server/rate_limit.h"

namespace ses::agent {

class SocketServer {
public:
  using Time = std::chrono::steady_clock::time_point;
  struct Parts {
    int listener;           // listening SEQPACKET socket, non-blocking
    size_t max_connections; // half of them of one uid
    std::chrono::milliseconds answer_limit;
    unsigned asks_per_second; // of one uid; those beyond are turned away
    Chooser &chooser;
    PlacementReports &reports;
  };

  explicit SocketServer(const Parts &parts);

  // Readable when serve() has something to do.
  [[nodiscard]] int descriptor() const { return epoll_.get(); }
  // When it has something to do in any case; none: never.
  [[nodiscard]] std::optional<Time> due() const;
  // Answers what is there (SOME_READY: the descriptor was readable), and drops who is overdue.
  void serve(bool some_ready);
  // Something came that questions may wait for.
  void place_waiting();
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
  void on_report(Id id, const Report &report, UniqueFd handle);
  void answer(Id id, ses_answer_status status);
  void give(Id id, const Placement &placement);
  void drop(Id id);
  void drop_overdue();

  const Parts parts_;
  const UniqueFd epoll_;
  Connections connections_;
  std::vector<Id> waiting_; // for a choice; some of them have gone
  DescriptorBin bin_;
  RateLimit limit_;
  bool logged_full_ = false, logged_flooded_ = false;
};

} // namespace ses::agent

#endif // SES_AGENT_SOCKET_SERVER_H
