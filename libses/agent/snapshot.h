// Snapshots of the elements as JSON, from the service and on disk.
//
// On disk the last one is kept together with the storage systems, so that an agent that starts
// while no service answers can still decide.  What is kept there is a help, never needed: a file
// that cannot be read or written is as good as none.
#ifndef SES_AGENT_SNAPSHOT_H
#define SES_AGENT_SNAPSHOT_H

#include <optional>
#include <string>

#include "cut_off.h"

namespace ses::agent {

// None for rubbish.
[[nodiscard]] std::optional<Snapshot> parse_snapshot(const std::string &text);

// What DIRECTORY/agent.json holds: texts of the service's answers.
struct KeptFacts {
  std::string systems;  // GET /v1/storage-systems; empty: not known
  std::string snapshot; // for parse_snapshot(); empty: not known
};

// Empty facts when there are none of the agent's own.
[[nodiscard]] KeptFacts read_kept(const std::string &directory);
// Writes them to another file first; returns an empty string, or why they are not kept.
[[nodiscard]] std::string write_kept(const std::string &directory, const KeptFacts &facts);

} // namespace ses::agent

#endif // SES_AGENT_SNAPSHOT_H
