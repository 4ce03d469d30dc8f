#include "file/unnamed.h"

#include <fcntl.h>
#include <linux/magic.h>
#include <sys/vfs.h>
#include <unistd.h>

#include <cerrno>

namespace ses::copy {

bool is_of_the_node(int fd) {
  struct statfs file_system {};
  if (fstatfs(fd, &file_system) != 0) {
    return false;
  }
  switch (file_system.f_type) {
  case EXT4_SUPER_MAGIC:
  case XFS_SUPER_MAGIC:
  case BTRFS_SUPER_MAGIC:
  case TMPFS_MAGIC:
    return true;
  default:
    return false;
  }
}

Descriptor create_unnamed(int directory, mode_t mode) {
  const mode_t writable = (mode & 0777) | S_IWUSR; // else it takes no attributes of its owner
  return Descriptor(openat(directory, ".", O_RDWR | O_TMPFILE | O_CLOEXEC, writable));
}

bool give_name(int fd, int directory, const std::string &name) {
  if (linkat(fd, "", directory, name.c_str(), AT_EMPTY_PATH) == 0) {
    return true;
  }
  if (errno != ENOENT) { // not allowed to others than root on older kernels
    return false;
  }
  const std::string own = "/proc/self/fd/" + std::to_string(fd);
  return linkat(AT_FDCWD, own.c_str(), directory, name.c_str(), AT_SYMLINK_FOLLOW) == 0;
}

} // namespace ses::copy
