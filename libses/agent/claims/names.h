// Finds files by the names that claims give.
//
// A name is a hint: a file counts only if it has the device and inode of the claim.  What is looked
// up on a file system the user runs is only what the kernel has in memory already; nothing is found
// on one that does not answer.
//
// Used by one thread, but for learn().
#ifndef SES_AGENT_NAMES_H
#define SES_AGENT_NAMES_H

#include <chrono>
#include <map>
#include <mutex>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "claims/claimed_file.h"
#include "node/unique_fd.h"
#include "processes/proc_files.h"

namespace ses::agent {

class Names {
public:
  // IS_PROCESS, here and below: the claim's process runs here.
  struct Looked {
    bool has_directory = false; // else handle_of() may find the file
    UniqueFd handle;            // invalid: it is not there, or is another one
    std::string path;           // of the file, if there is a handle
  };

  // The file in its directory, which is opened once for all of its files until forget().
  [[nodiscard]] Looked in_directory(const ClaimedFile &file, bool is_process);
  // A handle to it, by whatever is known.  IS_ORPHAN: the process is gone, or about to be.
  [[nodiscard]] UniqueFd handle_of(const ClaimedFile &file, bool is_process, bool is_orphan);
  // Closes the directories.
  void forget() { opened_.clear(); }

  // A file of the user's is at PATH: its directory is a place to look for others in.  Any thread,
  // never waits.
  void learn(const std::string &mount_point, const std::string &path);

private:
  using Clock = std::chrono::steady_clock;
  // Mount point, and path below it with a slash at the end if it is not empty.
  using Directory = std::pair<std::string, std::string>;
  struct Opened {
    UniqueFd handle; // invalid: it is not where the claim says
    std::string path;
  };

  [[nodiscard]] const Opened &open_directory(const ClaimedFile &file, bool is_process);
  void look_at_directories();

  std::map<FileId, Opened> opened_;
  std::map<FileId, Directory> directories_;
  Clock::time_point search_at_{}; // not before, for a working directory

  std::mutex mutex_;            // guards the two below
  std::set<Directory> learned_; // looked at, or to be
  std::vector<Directory> to_look_at_;
};

} // namespace ses::agent

#endif // SES_AGENT_NAMES_H
