// The connections of the socket server: who, since when, how many of whom.
//
// Only the table; the server reads and writes messages.
#ifndef SES_AGENT_CONNECTIONS_H
#define SES_AGENT_CONNECTIONS_H

#include <sys/socket.h>

#include <chrono>
#include <map>
#include <optional>
#include <set>
#include <unordered_map>
#include <utility>

#include "node/unique_fd.h"
#include "protocol/wire.h"

namespace ses::agent {

struct Connection {
  enum class State { kAwaitAsk, kAwaitChoice, kAwaitReport };
  UniqueFd fd;
  ucred peer{}; // from the kernel, never from a message
  State state = State::kAwaitAsk;
  std::chrono::steady_clock::time_point deadline{};
  Ask ask;
  std::optional<Placement> given; // from the answer to the report
};

class Connections {
public:
  using Id = uint64_t;
  using Time = std::chrono::steady_clock::time_point;

  // Numbers connections from FIRST_ID on, never twice; holds at most MOST, half of them of one uid.
  Connections(Id first_id, size_t most) : next_id_(first_id), most_(most) {}

  [[nodiscard]] bool has_room_for(uid_t uid) const;
  // The connection that is closed for another one of UID when all places are taken: the first due
  // of the user with most connections, if more than UID would have then; none: UID has its share.
  [[nodiscard]] std::optional<Id> gives_way_to(uid_t uid) const;
  Id add(UniqueFd fd, const ucred &peer, Time deadline);
  // Null when there is no such connection (any more).
  [[nodiscard]] Connection *find(Id id);
  void set_deadline(Id id, Time deadline);
  // Takes the connection out of the table.
  [[nodiscard]] Connection take(Id id);

  [[nodiscard]] size_t size() const { return connections_.size(); }
  // The one whose deadline comes first; none when there are no connections.
  [[nodiscard]] std::optional<std::pair<Time, Id>> first_due() const;

private:
  Id next_id_;
  const size_t most_;
  std::unordered_map<Id, Connection> connections_;
  std::set<std::pair<Time, Id>> deadlines_;
  std::map<uid_t, size_t> of_uid_;
};

} // namespace ses::agent

#endif // SES_AGENT_CONNECTIONS_H
