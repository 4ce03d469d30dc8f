// The process that answers calls when the worker does not.
#ifndef SES_RUN_SUPERVISOR_WATCHDOG_H
#define SES_RUN_SUPERVISOR_WATCHDOG_H

#include "shared_calls.h"

namespace ses::run {

// Watches the worker until nobody is left to call.  WORKER: its pidfd; -1: dead, or not started.
int watch(SharedCalls &calls, int worker);

} // namespace ses::run

#endif // SES_RUN_SUPERVISOR_WATCHDOG_H
