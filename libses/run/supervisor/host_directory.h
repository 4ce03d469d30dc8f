// A directory of a container, as this process sees it: by the mounts of both.
//
// A container has mounts of its own: a part of a union, say, at another path.  A file can be placed
// only within one mount, that which the agent knows.
#ifndef SES_RUN_SUPERVISOR_HOST_DIRECTORY_H
#define SES_RUN_SUPERVISOR_HOST_DIRECTORY_H

#include <optional>
#include <string>

#include "system/descriptor.h"

namespace ses::run {

struct HostDirectory {
  Descriptor directory; // O_PATH
  std::string path;
};

// The same directory as DIRECTORY, which lies on a mount of a process whose /proc/PID/mountinfo has
// the text MOUNTS.  Nothing where this process does not mount the file system as a whole, or the
// other's mount would have a create fail (read-only), or give the file another owner (idmapped).
std::optional<HostDirectory> find_host_directory(int directory, const std::string &mounts);

} // namespace ses::run

#endif // SES_RUN_SUPERVISOR_HOST_DIRECTORY_H
