// The peer processes: watchdog and worker restart each other, and the standby restarts both when
// they die together, so that a process listens at any time.  Only killing all three at once makes
// creating calls fail.
#ifndef SES_RUN_SUPERVISOR_PEER_PROCESS_H
#define SES_RUN_SUPERVISOR_PEER_PROCESS_H

#include "system/descriptor.h"

namespace ses::run {

// Descriptors that every peer starts with.
inline constexpr int kListener = 3;
inline constexpr int kSharedCalls = 4;
inline constexpr int kStarter = 5; // a pidfd of the process that started this one

// Starts a process of ROLE ("watchdog", "worker" or "standby"); its pidfd, or none.  Safe in a
// process of many threads.
Descriptor start_peer(const char *role);

// Are processes left that may call?
bool is_over();

} // namespace ses::run

#endif // SES_RUN_SUPERVISOR_PEER_PROCESS_H
