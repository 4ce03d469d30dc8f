#include "server/connections.h"

#include <algorithm>

namespace ses::agent {

bool Connections::has_room_for(uid_t uid) const {
  const auto count = of_uid_.find(uid);
  return connections_.size() < most_ && (count == of_uid_.end() || count->second < most_ / 2);
}

std::optional<Connections::Id> Connections::gives_way_to(uid_t uid) const {
  const auto count = of_uid_.find(uid);
  const auto largest =
      std::max_element(of_uid_.begin(), of_uid_.end(),
                       [](const auto &a, const auto &b) { return a.second < b.second; });
  if (connections_.size() < most_ || largest == of_uid_.end() ||
      largest->second <= (count == of_uid_.end() ? 0 : count->second) + 1) {
    return std::nullopt;
  }
  const auto due = std::find_if(deadlines_.begin(), deadlines_.end(), [&](const auto &entry) {
    return connections_.at(entry.second).peer.uid == largest->first;
  });
  return due->second;
}

Connections::Id Connections::add(UniqueFd fd, const ucred &peer, Time deadline) {
  const Id id = next_id_++;
  Connection &connection = connections_[id];
  connection.fd = std::move(fd);
  connection.peer = peer;
  connection.deadline = deadline;
  deadlines_.insert({deadline, id});
  ++of_uid_[peer.uid];
  return id;
}

Connection *Connections::find(Id id) {
  const auto connection = connections_.find(id);
  return connection == connections_.end() ? nullptr : &connection->second;
}

void Connections::set_deadline(Id id, Time deadline) {
  Connection &connection = connections_.at(id);
  deadlines_.erase({connection.deadline, id});
  connection.deadline = deadline;
  deadlines_.insert({deadline, id});
}

Connection Connections::take(Id id) {
  const auto position = connections_.find(id);
  Connection connection = std::move(position->second);
  connections_.erase(position);
  deadlines_.erase({connection.deadline, id});
  const auto count = of_uid_.find(connection.peer.uid);
  if (--count->second == 0) {
    of_uid_.erase(count);
  }
  return connection;
}

std::optional<std::pair<Connections::Time, Connections::Id>> Connections::first_due() const {
  return deadlines_.empty() ? std::nullopt : std::optional(*deadlines_.begin());
}

} // namespace ses::agent
