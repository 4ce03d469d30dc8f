// The other processes: guardian and worker each start the other anew when it dies, and the keeper
// both when they die together, so that at no time nobody listens.  Only killing all three at once
// makes creating calls fail.
#ifndef SES_RUN_SUPERVISOR_PARTNER_H
#define SES_RUN_SUPERVISOR_PARTNER_H

#include "system/descriptor.h"

namespace ses::run {

// Descriptors both have, and a partner starts with.
inline constexpr int kListener = 3;
inline constexpr int kSharedCalls = 4;
inline constexpr int kStarter = 5; // a pidfd of the process that started this one

// Starts a process of ROLE ("guardian", "worker" or "keeper"); its pidfd, or none.  Safe in a
// process of many threads.
Descriptor start_partner(const char *role);

// Are processes left that may call?
bool is_over();

} // namespace ses::run

#endif // SES_RUN_SUPERVISOR_PARTNER_H
