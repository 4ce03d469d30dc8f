// The process that creates files for calls.
#ifndef SES_RUN_SUPERVISOR_WORKER_H
#define SES_RUN_SUPERVISOR_WORKER_H

#include "shared_calls.h"

namespace ses::run {

// Works until nobody is left to call.  STARTER: a pidfd of the watchdog.
int work(SharedCalls &calls, int starter);

} // namespace ses::run

#endif // SES_RUN_SUPERVISOR_WORKER_H
