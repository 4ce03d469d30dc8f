// What belongs to a file beside its bytes: owner, mode, times, extended attributes, ACLs.
#ifndef SES_COPY_METADATA_H
#define SES_COPY_METADATA_H

#include <sys/stat.h>

#include <string>

namespace ses::copy {

// Gives OUT the owner, extended attributes (ACLs are among them), mode and times of IN, in this
// order, because each undoes a part of the one before.  Attributes that say where bytes lie (Lustre
// layouts) are the file system's own and are not copied.  Returns what could not be kept, as a text
// without a path; "" when all was.  CREATED: the status OUT was created with.  An owner that only
// root may give is left out without a message, as by cp -p; then set-user-ID and set-group-ID bits
// are left out, too.  Where a list (ACL) is lost, the owning group has what the list gave it and no
// more.
std::string keep_metadata(int in, int out, const struct stat &source, const struct stat &created);

// The same of a symbolic link, which has neither mode nor attributes that a user sets.  OUT is
// open with O_PATH.
std::string keep_link_metadata(int out, const struct stat &source);

// Gives a special file the mode and the access list of another.  Both are open with O_PATH: opening
// them otherwise may wake a process that waits for them.  Returns what could not be kept, else "".
std::string keep_special_mode(int in, int out, const struct stat &from);

} // namespace ses::copy

#endif // SES_COPY_METADATA_H
