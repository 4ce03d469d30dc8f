// The process that answers calls when the worker does not.
#ifndef SES_RUN_SUPERVISOR_GUARDIAN_H
#define SES_RUN_SUPERVISOR_GUARDIAN_H

#include "shared_calls.h"

namespace ses::run {

// Guards until nobody is left to call.  WORKER: a pidfd; -1: it has died, or there was none.
int guard(SharedCalls &calls, int worker);

} // namespace ses::run

#endif // SES_RUN_SUPERVISOR_GUARDIAN_H
