// The file that a copy is written into until it is whole, and how far an interrupted one came.
#ifndef SES_COPY_PARTIAL_H
#define SES_COPY_PARTIAL_H

#include <sys/stat.h>

#include <string>

#include "system/descriptor.h"

namespace ses::copy {

// DIRECTORY/.ses-partial.NAME: in the directory of TARGET, so that it can be renamed, and with the
// same end, so that rules by pattern (docs/placement-rules.md) see what they would see.
std::string partial_path(const std::string &target);

// The same as a path that the kernel takes also where that is too long and TARGET is not: through
// DIRECTORY, which has to stay open as long as the path is used.
std::string partial_path(const std::string &target, Descriptor &directory);

// How much of a copy of SOURCE an interrupted one left in FD, in bytes from the start; 0: none, or
// of another source, or of one that changed since.
off_t bytes_there(int fd, const struct stat &source);

// Notes in FD that BYTES of SOURCE are there.  A file system without extended attributes keeps no
// note: then an interrupted copy begins again.
void note_bytes(int fd, const struct stat &source, off_t bytes);

// Takes the note away.
void forget_bytes(int fd);

// True: FD has its name, and nobody else copies into it until it is closed (flock(2)); also where
// the file system has no locks.
bool is_ours_alone(int fd);

// A file with this name that this user left there and nobody else can have prepared; else none.
Descriptor open_left_over(const std::string &partial, int flags);

} // namespace ses::copy

#endif // SES_COPY_PARTIAL_H
