// Placements that no file came of: says so where they were decided.
//
// Any thread, never waits.
#ifndef SES_AGENT_RETURNS_H
#define SES_AGENT_RETURNS_H

#include <cerrno>

#include "announcer.h"
#include "detached.h"
#include "wire.h"

namespace ses::agent {

// Is ERROR, which ended a create, the element's?  Not that somebody else had the name first, or
// that the program has no descriptor left.
[[nodiscard]] constexpr bool is_of_element(int error) {
  return error != 0 && error != EEXIST && error != EMFILE && error != ENFILE;
}

class Returns {
public:
  Returns(Announcer &announcer, Detached &detached) : announcer_(announcer), detached_(detached) {}

  // Tells the service, if it knows PLACEMENT, else takes it off this agent's own count.
  void give_back(uid_t uid, const Placement &placement, EndReason reason) const {
    if (!placement.origin || !placement.origin->by_agent) {
      announcer_.ended(uid, placement.id, reason);
    } else {
      detached_.not_used(placement.element);
    }
  }

private:
  Announcer &announcer_;
  Detached &detached_;
};

} // namespace ses::agent

#endif // SES_AGENT_RETURNS_H
