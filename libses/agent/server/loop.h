// The loop of the agent: one thread, never waiting for anything but the next event.  It answers
// programs that ask, and looks after the table and the claims when they are due.
#ifndef SES_AGENT_LOOP_H
#define SES_AGENT_LOOP_H

#include "claims/claims_manager.h"
#include "node/unique_fd.h"
#include "server/socket_server.h"
#include "service/health.h"
#include "table/exchange.h"
#include "table/table_manager.h"

namespace ses::agent {

class Loop {
public:
  struct Parts {
    int stop_signals; // signalfd: whatever arrives there ends run()
    SocketServer &server;
    ServiceHealth &health;
    Exchange &exchange;
    Stager &stager;
    Doorbell &doorbell;
    TableManager &table;
    ClaimsManager &claims;
  };
  explicit Loop(const Parts &parts);

  // Goes on until a stop signal arrives.  False when it could not even begin.
  [[nodiscard]] bool run();

private:
  enum class Event { kStop, kConnections, kUpdate, kLooked, kStaged, kStageMoved, kWoken };

  [[nodiscard]] bool watch(int descriptor, Event event);
  void take(Event event);
  void take_updates();
  [[nodiscard]] int milliseconds_to_next() const;

  const Parts parts_;
  const UniqueFd epoll_;
  bool is_due_ = false; // the claims
};

} // namespace ses::agent

#endif // SES_AGENT_LOOP_H
