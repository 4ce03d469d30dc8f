// Publishes the site's rules to the programs of this node (ses/rules.h).
//
// The segment that an earlier agent left is taken over if it has the same rules, and replaced
// otherwise.  One that somebody else made in its place is removed if the agent is root.  Without
// rules there is no segment.  Where none is to be had, because other users have them all, a file
// beside the socket has the rules.  Both are removed when this object is destroyed.
#ifndef SES_AGENT_RULES_PUBLISHER_H
#define SES_AGENT_RULES_PUBLISHER_H

#include <memory>
#include <string>
#include <vector>

#include "ses/rules.h"

namespace ses::agent {

struct Rules {
  std::vector<std::string> include; // patterns of paths
  std::vector<std::string> exclude;
  std::vector<std::string> programs; // patterns of names of programs that are not served
};

// Why PATTERN cannot be one; empty when it can.
[[nodiscard]] std::string fault_of(const std::string &pattern);

class RulesPublisher {
public:
  // WHY is empty, or the reason why programs do not see the rules and what to do about it.
  RulesPublisher(const std::string &socket_path, const Rules &rules, std::string &why);
  ~RulesPublisher();
  RulesPublisher(const RulesPublisher &) = delete;
  RulesPublisher &operator=(const RulesPublisher &) = delete;

private:
  const std::string file_;
  int id_ = -1;                // of the segment
  ses_rules *rules_ = nullptr; // null: none
};

} // namespace ses::agent

#endif // SES_AGENT_RULES_PUBLISHER_H
