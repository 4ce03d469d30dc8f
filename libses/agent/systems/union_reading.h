// What the administrator set of a mergerfs union: its branches, their modes and reserves, and the
// options that placing has to heed.
//
// The service names targets, out of a knowledge base that other people write.  An agent that is
// root makes directories only where the union mounted on this node has a branch, and a file goes
// only where mergerfs itself could put it.
#ifndef SES_AGENT_UNION_READING_H
#define SES_AGENT_UNION_READING_H

#include <sys/types.h>

#include <chrono>
#include <cstdint>
#include <map>
#include <string>

namespace ses::agent {

// A branch as the union names it, and its file system at the time of the look.
struct UnionBranch {
  enum class Mode { kReadWrite, kReadOnly, kNoCreate };
  Mode mode = Mode::kReadWrite;
  uint64_t min_free = 0; // bytes: below them mergerfs creates nothing there
  // Of the file system at the path; valid if `error` is 0.
  int error = 0; // errno
  dev_t device = 0;
  std::string file_system; // see file_system.h; empty: not known
  bool is_low = false;     // fewer than `min_free` bytes are free
  bool no_inodes = false;  // it counts inodes, and none is free
  bool read_only = false;  // it is mounted so
  bool operator==(const UnionBranch &) const = default;
};

struct Union {
  std::string why; // it takes no placed file, as a predicate: "is mounted with ..."; empty: it does
  std::map<std::string, UnionBranch> branches{};
  // Bytes in use of the file system of each branch, and when that was.  They count in no
  // comparison.
  std::map<std::string, double> used{};
  std::chrono::steady_clock::time_point looked_at{};
  bool operator==(const Union &other) const {
    return why == other.why && branches == other.branches;
  }
};

// From the values of user.mergerfs.branches ("/b1=RW:/b2=NC,4G"), minfreespace and link_cow.  Pure;
// the file systems are not looked at.
[[nodiscard]] Union parse_union(const std::string &branches, const std::string &min_free,
                                const std::string &link_cow);

// Bytes: "4294967296", "4G", "50M" (powers of 1024), as mergerfs writes them; 0 for anything else.
[[nodiscard]] uint64_t parse_min_free(const std::string &text);

// True when what was mounted last at MOUNT_POINT is a mergerfs as a whole that root or SELF has
// mounted: only those may say what is a branch.  MOUNTINFO is that of /proc.  Pure.
[[nodiscard]] bool is_trusted_union(const std::string &mountinfo, const std::string &mount_point,
                                    uid_t self);

// Asks the union at MOUNT_POINT, and looks at the file systems of its branches.  Either may be
// slow.
[[nodiscard]] Union read_union(const std::string &mount_point);

// A branch as the site describes it.
struct DescribedBranch {
  std::string target;
  std::string file_system; // see file_system.h; empty: it does not say
};

// Empty, or why no file may go there now.  Pure.
[[nodiscard]] std::string trouble_of(const Union &seen, const std::string &mount_point,
                                     const DescribedBranch &described);

} // namespace ses::agent

#endif // SES_AGENT_UNION_READING_H
