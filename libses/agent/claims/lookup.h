// Opens a file by a name a user gave, without running into what that user put in the way.
//
// Every result is O_PATH: no access, no close event of its own.  A lookup either stays within one
// file system that the site manages, or uses only what the kernel has in memory, so a file system
// run by the user cannot make the agent wait.  A managed one that does not answer is not waited for
// either (node/may_hang.h).  Nothing here checks that the file found is the one looked for.
#ifndef SES_AGENT_LOOKUP_H
#define SES_AGENT_LOOKUP_H

#include <sys/types.h>

#include <string>
#include <vector>

#include "node/unique_fd.h"

namespace ses::agent {

// PATH, of which UID says that it is a file's, from BASE (AT_FDCWD: PATH is absolute), as far as it
// is in the kernel's memory.
[[nodiscard]] UniqueFd open_cached(uid_t uid, int base, const std::string &path);
// PATH below BASE and on its file system.
[[nodiscard]] UniqueFd open_below(int base, const std::string &path);
// The directory a process is in, or the one its descriptor DIRFD is of.
[[nodiscard]] UniqueFd open_directory_of(pid_t pid, int dirfd);
[[nodiscard]] UniqueFd open_mount_point(const std::string &path);

// PID is a process of UID.
[[nodiscard]] bool is_process_of(pid_t pid, uid_t uid);
// At most MOST of them, first those that were started last before PID.
[[nodiscard]] std::vector<pid_t> processes_of(uid_t uid, pid_t pid, size_t most);

} // namespace ses::agent

#endif // SES_AGENT_LOOKUP_H
