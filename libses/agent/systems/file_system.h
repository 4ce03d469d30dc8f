// Which file system a directory is on, so that another one that is there now is noticed.
#ifndef SES_AGENT_FILE_SYSTEM_H
#define SES_AGENT_FILE_SYSTEM_H

#include <cstdint>
#include <string>

namespace ses::agent {

// What the kernel reports of a directory.
struct FileSystemFacts {
  int mount = -1;    // mnt_id
  uint64_t fsid = 0; // of statvfs(3)
  std::string uuid;  // of XFS, whose fsid is a device's number: 32 hexadecimal digits
};

// As ses discover describes it (qsm:fileSystem): its type, and what stays when it is mounted
// again: "ext4 1f00c4...", "nfs4 server:/export"; of one that has nothing of the kind, where it is
// mounted: "tmpfs /mnt/b1".  Empty: MOUNTINFO has no such mount.  Pure.
[[nodiscard]] std::string name_file_system(const FileSystemFacts &facts,
                                           const std::string &mountinfo);

// The same of the directory PATH; empty: it cannot be looked at.  May be slow.
[[nodiscard]] std::string file_system_at(const std::string &path, const std::string &mountinfo);

// False where that cannot be decided: one is not known, or a node mounts over the network what is
// a disk elsewhere.  Pure.
[[nodiscard]] bool is_another(const std::string &described, const std::string &seen);

} // namespace ses::agent

#endif // SES_AGENT_FILE_SYSTEM_H
