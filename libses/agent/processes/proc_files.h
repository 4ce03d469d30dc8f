// Which files a process has open, read from /proc.
//
// Nothing here asks a file system for anything but what the kernel has in memory
// (AT_STATX_DONT_SYNC), so a hung mount does not hang the agent.  Nor does a process that cannot be
// looked at (node/may_hang.h): nothing is known of it then; where a user has many such, of none of
// theirs.
#ifndef SES_AGENT_PROC_FILES_H
#define SES_AGENT_PROC_FILES_H

#include <sys/types.h>

#include <compare>
#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "node/may_hang.h"
#include "node/unique_fd.h"

namespace ses::agent {

struct FileId {
  dev_t device = 0;
  uint64_t inode = 0;
  auto operator<=>(const FileId &) const = default;
};

struct FileFacts {
  FileId id;
  uint64_t size = 0;
  uint64_t reserved = 0; // bytes on the device, also those allocated beyond the end (fallocate)
  bool regular = false;
  uid_t owner = 0;
  uint32_t links = 0;
};

// A handle (O_PATH: no access, no close event of its own) to what descriptor FD of process PID
// refers to; invalid when there is no such process or descriptor, or it is O_PATH itself, which
// anybody can have of files they may not read.
[[nodiscard]] UniqueFd open_handle(pid_t pid, int fd);
// A handle to FILE through whichever descriptor of PID has it open; invalid when none has.
[[nodiscard]] UniqueFd find_handle(pid_t pid, const FileId &file);
// None when the descriptor is invalid.
[[nodiscard]] std::optional<FileFacts> facts_of(int handle);
// The path the kernel has for HANDLE now, the last one of a file that was removed; empty when there
// is none.
[[nodiscard]] std::string path_of(int handle);

// Calls VISIT(directory descriptor, entry name) for each entry of the directory PATH that is a
// number, until it returns false.
void for_each_number(const std::string &path,
                     const std::function<bool(int directory, const char *name)> &visit);
// Of the regular file that entry NAME of a DIRECTORY /proc/PID/fd refers to; none when it is no
// regular file or O_PATH.
[[nodiscard]] std::optional<FileFacts> facts_of_open(int directory, const char *name);

// The same descriptor can read; asks nothing about its file.
[[nodiscard]] bool can_read(int directory, const char *name);

// Who runs PID; none when it is gone.
[[nodiscard]] std::optional<uid_t> owner_of(pid_t pid);
// What CALL, which looks at PID, returns; none: it cannot be looked at now.
template <typename Call> auto look_at_process(pid_t pid, Call call) {
  const uid_t owner = owner_of(pid).value_or(0);
  return what_may_hang(
      {"process " + std::to_string(pid) + " of uid " + std::to_string(owner), owner},
      std::move(call));
}
// All regular files PID has open for more than O_PATH, which is no use of a file; empty when the
// process is gone or is another user's.  None: it cannot be looked at now.
[[nodiscard]] std::optional<std::set<FileId>> open_files_of(pid_t pid);
// The process, its children and theirs: at most 256 of them.
[[nodiscard]] std::vector<pid_t> family_of(pid_t pid);
// The same of its children and theirs, as far as they are not other users' (at most 256 processes),
// who may have inherited a file from it: each with one of them that has it.
[[nodiscard]] std::map<FileId, pid_t> open_files_of_children(pid_t pid);
// Those of WANTED that some process has open.
[[nodiscard]] std::set<FileId> open_anywhere(const std::set<FileId> &wanted);
// Which process has a file open, and a handle to it.
struct OpenSomewhere {
  pid_t pid = 0;
  UniqueFd handle;
};
// Those of WANTED that some process has open, found in one look through all of them.
[[nodiscard]] std::map<FileId, OpenSomewhere> find_handles(const std::set<FileId> &wanted);
struct ProcessState {
  bool exiting = true;  // gone, or past the point where the kernel closes its files
  uint64_t started = 0; // in ticks since boot: identifies it among processes of the same number
};
// A process that cannot be looked at now counts as running, and as the oldest.
[[nodiscard]] ProcessState state_of(pid_t pid);
// All that is to be read at PATH; empty when there is nothing.
[[nodiscard]] std::string read_proc(const std::string &path);

} // namespace ses::agent

#endif // SES_AGENT_PROC_FILES_H
