// Which directories are branches of a union: what its mergerfs says, and nobody else.
//
// The service names targets, out of a knowledge base that others write.  An agent that is root
// makes directories only where the union mounted on this node has a branch.
#ifndef SES_AGENT_UNION_BRANCHES_H
#define SES_AGENT_UNION_BRANCHES_H

#include <sys/types.h>

#include <string>
#include <vector>

namespace ses::agent {

// The branches in the text of user.mergerfs.branches, as they are written there.  Pure.
[[nodiscard]] std::vector<std::string> parse_branches(const std::string &text);

// True when what was mounted last at MOUNT_POINT is a mergerfs as a whole that root or SELF has
// mounted: only those may say what is a branch.  MOUNTINFO is that of /proc.  Pure.
[[nodiscard]] bool is_trusted_union(const std::string &mountinfo, const std::string &mount_point,
                                    uid_t self);

// Why TARGET is no branch of the union at MOUNT_POINT; empty: it is one.  Asks the union, which may
// be slow.
[[nodiscard]] std::string why_no_branch(const std::string &mount_point, const std::string &target);

} // namespace ses::agent

#endif // SES_AGENT_UNION_BRANCHES_H
