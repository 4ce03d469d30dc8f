// The OSTs and pools of a Lustre as its client on this node sees them.
//
// Reads small files below /proc, /sys and debugfs (which of them, changed in 2.12 and 2.17) and,
// where the state of a connection cannot be read, asks the client for each OST without waiting for
// its server.  Nothing here creates, changes or locks anything.  No log, no thread.
#ifndef SES_AGENT_LUSTRE_TARGETS_H
#define SES_AGENT_LUSTRE_TARGETS_H

#include <cstdint>
#include <map>
#include <set>
#include <string>

namespace ses::agent {

struct LustreTargets {
  std::map<uint16_t, std::string> troubled;        // OST index -> why no file may go there
  std::set<uint16_t> seen;                         // every OST the client knows
  std::map<std::string, std::set<uint16_t>> pools; // also those without a member
  bool operator==(const LustreTargets &) const = default;
};

// What the client says of FILE_SYSTEM, which is mounted at MOUNT_POINT (empty: ask nothing, only
// read files).  ROOT is "/", or a copy of another machine's.
[[nodiscard]] LustreTargets read_lustre_targets(const std::string &root,
                                                const std::string &file_system,
                                                const std::string &mount_point);

// The name of the Lustre mounted at MOUNT_POINT, from the text of /proc/self/mountinfo; empty when
// what is mounted there is no Lustre client.  Pure.
[[nodiscard]] std::string lustre_name_at(const std::string &mountinfo,
                                         const std::string &mount_point);

} // namespace ses::agent

#endif // SES_AGENT_LUSTRE_TARGETS_H
