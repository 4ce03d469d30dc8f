// Publishes the site's rules to the programs of this node (ses/rules.h).
//
// What an agent before this one left is taken over if it says the same, and else replaced; what
// somebody else has put in its place is removed, where the agent is root; without
// rules there is no segment.  Removed when this goes.
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
  // WHY is empty, or says why programs do not see the rules and what to do about it.
  RulesPublisher(const std::string &socket_path, const Rules &rules, std::string &why);
  ~RulesPublisher();
  RulesPublisher(const RulesPublisher &) = delete;
  RulesPublisher &operator=(const RulesPublisher &) = delete;

private:
  int id_ = -1;
  ses_rules *rules_ = nullptr; // null: none
};

} // namespace ses::agent

#endif // SES_AGENT_RULES_PUBLISHER_H
