#include "file/unnamed.h"

#include <fcntl.h>
#include <linux/magic.h>
#include <sys/vfs.h>
#include <unistd.h>

#include <cerrno>

namespace ses::copy {

std::string directory_of(const std::string &path) {
  const std::size_t slash = path.rfind('/');
  return slash == std::string::npos ? "." : path.substr(0, slash + 1);
}

bool is_of_the_node(int fd) {
  struct statfs found {};
  if (fstatfs(fd, &found) != 0) {
    return false;
  }
  switch (found.f_type) {
  case EXT4_SUPER_MAGIC:
  case XFS_SUPER_MAGIC:
  case BTRFS_SUPER_MAGIC:
  case TMPFS_MAGIC:
    return true;
  default:
    return false;
  }
}

Descriptor create_unnamed(const std::string &directory, mode_t mode) {
  return Descriptor(open(directory.c_str(), O_RDWR | O_TMPFILE | O_CLOEXEC, mode & 0777));
}

bool give_name(int fd, const std::string &path) {
  if (linkat(fd, "", AT_FDCWD, path.c_str(), AT_EMPTY_PATH) == 0) {
    return true;
  }
  if (errno != ENOENT) { // not allowed to others than root on older kernels
    return false;
  }
  const std::string own = "/proc/self/fd/" + std::to_string(fd);
  return linkat(AT_FDCWD, own.c_str(), AT_FDCWD, path.c_str(), AT_SYMLINK_FOLLOW) == 0;
}

} // namespace ses::copy
