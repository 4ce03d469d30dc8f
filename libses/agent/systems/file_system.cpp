#include "systems/file_system.h"

#include <fcntl.h>
#include <sys/ioctl.h>
#include <sys/statvfs.h>

#include <array>
#include <cstdio>
#include <fstream>
#include <set>

#include "node/mountinfo.h"
#include "node/unique_fd.h"

namespace ses::agent {
namespace {

// XFS_IOC_FSGEOMETRY_V1 of the kernel's xfs_fs.h: 112 bytes, the UUID at 64; for everybody.
struct XfsGeometry {
  std::array<unsigned char, 64> before;
  std::array<unsigned char, 16> uuid;
  std::array<unsigned char, 32> after;
};
constexpr unsigned long kXfsGeometry = _IOR('X', 100, XfsGeometry);

// Their fsid is made of their UUID.
const std::set<std::string> kWithFsid{"btrfs", "ext2", "ext3", "ext4", "zfs"};

bool is_remote(const std::string &name) {
  return name.find(":/") != std::string::npos || name.find(" //") != std::string::npos;
}

std::string detail_of(const FileSystemFacts &facts, const Mount &mount) {
  if (mount.type == "xfs" && !facts.uuid.empty()) {
    return facts.uuid;
  }
  if (kWithFsid.contains(mount.type) && facts.fsid != 0) {
    std::array<char, 17> digits{};
    (void)std::snprintf(digits.data(), digits.size(), "%016llx",
                        static_cast<unsigned long long>(facts.fsid));
    return digits.data();
  }
  return is_remote(" " + mount.source) && mount.point != "/" ? mount.source : mount.point;
}

} // namespace

std::string name_file_system(const FileSystemFacts &facts, const std::string &mountinfo) {
  for (const Mount &mount : parse_mountinfo(mountinfo)) {
    if (mount.number == facts.mount) {
      return mount.type + " " + detail_of(facts, mount);
    }
  }
  return "";
}

std::string file_system_at(const std::string &path, const std::string &mountinfo) {
  const UniqueFd directory(open(path.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  struct statvfs space {};
  if (!directory || fstatvfs(directory.get(), &space) != 0) {
    return "";
  }
  FileSystemFacts facts;
  facts.fsid = space.f_fsid;
  XfsGeometry geometry{};
  if (ioctl(directory.get(), kXfsGeometry, &geometry) == 0) {
    for (const unsigned char byte : geometry.uuid) {
      constexpr const char *kDigits = "0123456789abcdef";
      facts.uuid += {kDigits[byte >> 4], kDigits[byte & 15]};
    }
  }
  std::ifstream info("/proc/self/fdinfo/" + std::to_string(directory.get()));
  for (std::string word; info >> word;) {
    if (word == "mnt_id:") {
      info >> facts.mount;
    }
  }
  return name_file_system(facts, mountinfo);
}

bool is_another(const std::string &described, const std::string &seen) {
  return !described.empty() && !seen.empty() && described != seen &&
         is_remote(described) == is_remote(seen);
}

} // namespace ses::agent
