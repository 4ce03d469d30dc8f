// The file that a copy is written into until it is whole, and how far an interrupted one came.
#ifndef SES_COPY_PARTIAL_H
#define SES_COPY_PARTIAL_H

#include <sys/stat.h>

#include <string>

#include "system/descriptor.h"

namespace ses::copy {

// .ses-partial.NAME: for the directory of NAME, so that it can be renamed, and with the same end,
// so that rules by pattern (docs/placement-rules.md) see what they would see.
std::string partial_name(const std::string &name);

// NAME is one of those.
bool is_partial_name(const std::string &name);

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

// A file with this name that this user left in DIRECTORY and nobody else can have prepared, to read
// and write; else none.
Descriptor open_left_over(int directory, const std::string &partial);

} // namespace ses::copy

#endif // SES_COPY_PARTIAL_H
