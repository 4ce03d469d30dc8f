// The thread whose call waits: its memory, its directories, its umask, who it is.
//
// What is read is that thread's only if its call still waits afterwards (Listener::waits()).
// Nothing here changes anything.
#ifndef SES_RUN_SUPERVISOR_CALLER_H
#define SES_RUN_SUPERVISOR_CALLER_H

#include <sys/types.h>

#include <climits>
#include <cstdint>
#include <string>
#include <vector>

#include "system/descriptor.h"

namespace ses::run {

// As in /proc/PID/status.
struct Identity {
  uid_t uid = 0;
  uid_t effective_uid = 0;
  uid_t fs_uid = 0;
  gid_t effective_gid = 0;
  gid_t fs_gid = 0;
  std::vector<gid_t> groups;
  std::string capabilities; // effective ones, hexadecimal

  bool operator==(const Identity &) const = default;
};

struct Status {
  Identity identity;
  mode_t umask = 0;
  pid_t process = 0;
};

class Caller {
public:
  explicit Caller(pid_t thread);

  // SIZE bytes at ADDRESS of its memory.
  bool read(uint64_t address, void *into, size_t size) const;
  // The string at ADDRESS; false: it is not readable to its end, or longer than a path may be.
  bool read_path(uint64_t address, char (&into)[PATH_MAX]) const;
  bool read_status(Status &into) const;
  // Its working directory (AT_FDCWD) or open directory, and its root; O_PATH.
  [[nodiscard]] Descriptor directory(int dirfd) const;
  [[nodiscard]] Descriptor root() const;
  // PATH, as it gave it with DIRFD, from its root on, with no ".." in it; symbolic links are left
  // as they are, but where there was a "..".  DIRECTORY: the one that PATH names NAME in.  Empty:
  // it is unknown.
  [[nodiscard]] std::string whole_path(int dirfd, const std::string &path, int directory,
                                       const char *name) const;
  // Does it see the same root, mounts or users as this process?
  [[nodiscard]] bool shares_root() const;
  [[nodiscard]] bool shares_mounts() const;
  [[nodiscard]] bool shares_users() const;
  [[nodiscard]] bool shares_label() const; // of security
  // The text of its /proc/PID/mountinfo.
  [[nodiscard]] std::string mounts() const;
  // Its descriptor of a file; -1: it has none.
  [[nodiscard]] int find_descriptor(dev_t device, ino_t inode) const;
  // What requirements are looked up under: "dd" of "/usr/bin/dd", "bash" of "-bash", "nginx" of one
  // that has written "nginx: worker process" over its arguments.
  [[nodiscard]] std::string short_name() const;

private:
  [[nodiscard]] bool has_other_title(size_t length) const;
  [[nodiscard]] std::string program_name() const;
  [[nodiscard]] std::string text(const char *name) const;
  [[nodiscard]] std::string from_root(std::string path) const;
  [[nodiscard]] Descriptor open_path(const char *name) const;

  const pid_t thread_;
  Descriptor proc_;
};

} // namespace ses::run

#endif // SES_RUN_SUPERVISOR_CALLER_H
