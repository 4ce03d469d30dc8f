// The process that does nothing but hold the listener, until watchdog and worker have died
// together.
#ifndef SES_RUN_SUPERVISOR_STANDBY_H
#define SES_RUN_SUPERVISOR_STANDBY_H

#include "shared_calls.h"

namespace ses::run {

// Waits.  True: watchdog and worker are dead, and this process is to be the watchdog.  False:
// nobody is left to call, or another standby takes over.
bool stand_by(SharedCalls &calls);

} // namespace ses::run

#endif // SES_RUN_SUPERVISOR_STANDBY_H
