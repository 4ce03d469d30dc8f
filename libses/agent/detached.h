// Placements without a service: remembers what is needed for that, and chooses (cut_off.h).
//
// Any thread.  decide() draws, and counts what it placed since the snapshot was made; preparing
// staging directories is the caller's.  What it knows is kept on disk, for an agent that starts
// while no service answers.
#ifndef SES_AGENT_DETACHED_H
#define SES_AGENT_DETACHED_H

#include <map>
#include <mutex>
#include <optional>
#include <random>
#include <string>
#include <tuple>
#include <vector>

#include "snapshot.h"
#include "tickets.h"
#include "wire.h"

namespace ses::agent {

class Detached {
public:
  // DIRECTORY is made when missing.
  explicit Detached(std::string directory);

  // The storage systems kept from an earlier run, as the service told them; empty when unknown.
  [[nodiscard]] std::string kept_systems() const;
  void set_systems(const std::string &text);
  void set_snapshot(const std::string &text);
  // What the service resolved for questions of this key; used when only the agent is left.
  void remember(const TicketKey &key, std::vector<Requirement> requirements);
  // Writes to disk what changed; touches a file system.
  void save();

  // Whether there is an element of this storage system to choose.
  [[nodiscard]] bool ready(const std::string &system) const;
  // COUNT placements, fewer (or none) when nothing may be chosen.
  [[nodiscard]] std::vector<Placement> decide(const TicketKey &key, unsigned count,
                                              const std::vector<std::string> &exclude);

  // No file came of a placement on ELEMENT.
  void not_used(const std::string &element);

private:
  using Who = std::tuple<uid_t, std::string, std::string>; // and application, system

  [[nodiscard]] std::vector<Requirement> requirements_of(const TicketKey &key) const;

  const std::string directory_;
  mutable std::mutex mutex_;
  KeptFacts kept_;
  bool changed_ = false, said_not_kept_ = false;
  std::optional<Snapshot> snapshot_;
  std::map<std::string, unsigned> own_since_;
  std::map<Who, std::vector<Requirement>> resolved_;
  std::mt19937_64 random_{std::random_device{}()};
};

} // namespace ses::agent

#endif // SES_AGENT_DETACHED_H
