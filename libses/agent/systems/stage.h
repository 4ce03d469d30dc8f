// The staging directories on the branches of a union: TARGET/.ses and TARGET/.ses/UID.
//
// A target is used only if the union itself reports it as a branch (union_reading.h), and only
// if nobody but root, the agent, a system account and the user served can rename TARGET/.ses away.
//
// A file is created complete in the caller's own staging directory and then linked to its name,
// so nobody sees it half-way.  The agent usually runs as root and branches may be writable by
// anybody, so every step below TARGET goes through directory descriptors, follows no symbolic
// link, and an entry that is not exactly what the agent would have made is refused, never
// repaired into trust: .ses of another mode, or a directory of root's where a user's is due, only
// if nothing but directories of users is in it (nothing, when the agent was killed).  Nothing
// outside TARGET/.ses is ever created, changed or removed.
//
// Touches the branch's file system, which may be slow: never called from the socket's loop.
#ifndef SES_AGENT_STAGE_H
#define SES_AGENT_STAGE_H

#include <sys/stat.h>
#include <sys/types.h>

#include <chrono>
#include <string>

#include "node/unique_fd.h"

namespace ses::agent {

// Why other users than UID could swap directories below a branch whose root is STATUS, and the
// command that mends it; empty: nobody can.
[[nodiscard]] std::string swappable_by(const struct stat &status, const std::string &target,
                                       uid_t uid);

struct PreparedStage {
  std::string why{};    // it cannot be used, naming the path; empty: it can
  UniqueFd top{};       // TARGET/.ses then
  bool is_made = false; // it was not there
};

// Makes sure of TARGET/.ses (owner the agent, 0755) and TARGET/.ses/UID (owner UID, 0744: programs
// that walk the tree can list it, and nobody else reaches a file in it),
// both without set-group-id and default ACL, which files created there would inherit.  Makes
// nothing where TARGET is not on DEVICE, as it was when the union was looked at.
[[nodiscard]] PreparedStage prepare_stage(const std::string &target, dev_t device, uid_t uid);

// "TARGET/.ses/UID".
[[nodiscard]] std::string stage_path(const std::string &target, uid_t uid);

// Removes TARGET/.ses/UID where nothing is in it and nothing was made or renamed in it for 5 s (by
// other nodes, where they share the branch: the last one removes it), and then TARGET/.ses where it
// was the last.
void remove_stage(const std::string &target, dev_t device, uid_t uid);

// Removes regular files in TARGET/.ses/UID, of that user, whose last change is older than AGE:
// creates that were cut off half-way.  Only where owners and mode are as the agent made them. Looks
// at no more than 10,000 entries.  Returns how many it removed.
unsigned sweep_stage(const std::string &target, std::chrono::seconds age);

} // namespace ses::agent

#endif // SES_AGENT_STAGE_H
