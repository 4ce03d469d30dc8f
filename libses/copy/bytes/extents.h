// Where a file has data, and where holes.
#ifndef SES_COPY_EXTENTS_H
#define SES_COPY_EXTENTS_H

#include <sys/stat.h>

#include <vector>

namespace ses::copy {

struct Extent {
  off_t offset; // bytes
  off_t length; // bytes, above 0
};

// True: fewer blocks than its size needs, so that there may be holes.
bool may_have_holes(const struct stat &file);

// The data of an open file, in order, in extents of at most LARGEST bytes (a multiple of 4096).  A
// file system that does not report holes has data everywhere.
std::vector<Extent> extents_of(int fd, const struct stat &file, off_t largest);

} // namespace ses::copy

#endif // SES_COPY_EXTENTS_H
