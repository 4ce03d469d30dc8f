// A file that has no name until it is whole (open(2), O_TMPFILE): on ext4 a create and a rename
// take twice the processor time of that and a link.  Only where nobody places files.
#ifndef SES_COPY_UNNAMED_H
#define SES_COPY_UNNAMED_H

#include <sys/types.h>

#include <string>

#include "system/descriptor.h"

namespace ses::copy {

// The file system of FD is one of the node's own: it can do this, no back end places on it, and it
// lets one thread at a time write to a file.
bool is_of_the_node(int fd);

// A file in DIRECTORY with the permissions of MODE, as far as the umask lets it; none, with errno:
// not possible there.
Descriptor create_unnamed(int directory, mode_t mode);

// Gives it a name in DIRECTORY that is free; false with errno, EEXIST where the name is taken.
bool give_name(int fd, int directory, const std::string &name);

} // namespace ses::copy

#endif // SES_COPY_UNNAMED_H
