// Where on Lustre a file goes, from the targets of its elements.
#ifndef SES_AGENT_LUSTRE_PLACE_H
#define SES_AGENT_LUSTRE_PLACE_H

#include <string>
#include <vector>

#include "protocol/wire.h"

namespace ses::agent {

// Sets form, OSTs and pool of PLACEMENT.  Targets of digits are the indexes of OSTs: they become a
// list, which the file system follows strictly or refuses.  One of other letters is the name of a
// pool, in which the file system keeps its own care for space.  False: TARGETS are neither.
[[nodiscard]] bool place_on_lustre(const std::vector<std::string> &targets, Placement &placement);

} // namespace ses::agent

#endif // SES_AGENT_LUSTRE_PLACE_H
