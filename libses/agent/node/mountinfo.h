// What is mounted where, by /proc/self/mountinfo.
//
// Fields are separated by one space each; only space, tab, newline and backslash are escaped there.
// What else looks like white space is a part of a name, which may be any user's.
#ifndef SES_AGENT_MOUNTINFO_H
#define SES_AGENT_MOUNTINFO_H

#include <sys/types.h>

#include <string>
#include <vector>

namespace ses::agent {

struct Mount {
  int number = -1; // mnt_id
  dev_t device = 0;
  std::string root, point, type, source, options;
};

// The text of /proc/self/mountinfo.
[[nodiscard]] std::string read_mountinfo();

// The mounts of such a text, in its order; lines that are none are passed over.  Pure.
[[nodiscard]] std::vector<Mount> parse_mountinfo(const std::string &text);

// What is seen at POINT, the last that was mounted there; null when nothing is.  Pure.
[[nodiscard]] const Mount *mounted_at(const std::vector<Mount> &mounts, const std::string &point);

} // namespace ses::agent

#endif // SES_AGENT_MOUNTINFO_H
