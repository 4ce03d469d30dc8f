#include "bytes/extents.h"

#include <unistd.h>

#include <algorithm>
#include <cerrno>

namespace ses::copy {
namespace {

void add(std::vector<Extent> &extents, off_t from, off_t to, off_t largest) {
  for (; from < to; from += largest) {
    extents.push_back({from, std::min(largest, to - from)});
  }
}

} // namespace

bool may_have_holes(const struct stat &file) { return file.st_blocks * 512 < file.st_size; }

std::vector<Extent> extents_of(int fd, const struct stat &file, off_t largest) {
  std::vector<Extent> extents;
  if (!may_have_holes(file)) {
    add(extents, 0, file.st_size, largest);
    return extents;
  }
  for (off_t at = 0; at < file.st_size;) {
    const off_t data = lseek(fd, at, SEEK_DATA);
    if (data < 0 && errno == ENXIO) {
      break; // holes to the end
    }
    const off_t hole = data < 0 ? -1 : lseek(fd, data, SEEK_HOLE);
    if (hole < 0) {
      add(extents, at, file.st_size, largest);
      break;
    }
    add(extents, data, std::min(hole, file.st_size), largest);
    at = hole;
  }
  return extents;
}

} // namespace ses::copy
