// The OSTs and pools of a Lustre as its client on this node sees them.
//
// Reads small files below /proc, /sys and debugfs (which of them, changed in 2.12 and 2.17), all of
// them from the client's memory: none is a request to a server.  Nothing here creates, changes or
// locks anything.  No log, no thread.
#ifndef SES_AGENT_LUSTRE_TARGETS_H
#define SES_AGENT_LUSTRE_TARGETS_H

#include <atomic>
#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <string>

#include "node/mountinfo.h"

namespace ses::agent {

struct LustreTargets {
  std::string why;                                 // no file may go to any; empty: some may
  std::map<uint16_t, std::string> troubled;        // OST index -> why no file may go there
  std::set<uint16_t> seen;                         // every OST the client knows
  std::set<uint16_t> unknown;                      // those whose connection's state is not shown
  std::map<std::string, std::set<uint16_t>> pools; // also those without a member
  bool operator==(const LustreTargets &) const = default;
};

// What the client reports of FILE_SYSTEM.  ROOT is "/", or a copy of another machine's.
[[nodiscard]] LustreTargets read_lustre_targets(const std::string &root,
                                                const std::string &file_system);

// Asks the server of an OST, by the client that is mounted at MOUNT_POINT: empty, or why no file
// may go there.  Three requests: to open and close the mount point, and for the OST; may hang.
// AT_SERVER is set when only the last is left.
[[nodiscard]] std::string ask_lustre_target(const std::string &mount_point, uint16_t ost,
                                            std::atomic<bool> &at_server);

// The name of the Lustre that is mounted there; empty when it is no Lustre client.  Pure.
[[nodiscard]] std::string lustre_name_of(const Mount &mount);

struct LustreMount {
  std::string file_system, mount_point;
};

// The Lustre mounted at MOUNT_POINT or, where there is none, one of this NAME wherever it is. Pure.
[[nodiscard]] std::optional<LustreMount>
find_lustre(const std::string &mountinfo, const std::string &mount_point, const std::string &name);

} // namespace ses::agent

#endif // SES_AGENT_LUSTRE_TARGETS_H
