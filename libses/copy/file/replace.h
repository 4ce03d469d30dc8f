// Puts a copy of a file in its place, if nobody has it open.
#ifndef SES_COPY_REPLACE_H
#define SES_COPY_REPLACE_H

#include <sys/stat.h>

#include <string>

#include "file/directory.h"

namespace ses::copy {

// Raises Failure when a program of this node has the file open besides FD, or when its file system
// does not report that (unless ASSUME_UNUSED).  Other nodes are not seen.
void refuse_in_use(int fd, const std::string &path, bool assume_unused);

// Gives PARTIAL, in the same directory, the name of FILE, which FD is open on and which was as FROM
// when it was copied.  Raises Failure, and FILE is what it was, when somebody opened or changed it
// since.  A program that opens FILE meanwhile waits for it, some 100 us, and gets one of the two
// whole; O_NONBLOCK would rather have EWOULDBLOCK.
void replace_unused(int fd, const Entry &file, const std::string &partial, const struct stat &from,
                    bool assume_unused);

// True: two open files lie on the same branch of a union, or on the same OSTs.
bool lie_together(int a, int b);

} // namespace ses::copy

#endif // SES_COPY_REPLACE_H
