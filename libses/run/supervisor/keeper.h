// The process that does nothing but hold the listener, until guardian and worker have died
// together.
#ifndef SES_RUN_SUPERVISOR_KEEPER_H
#define SES_RUN_SUPERVISOR_KEEPER_H

#include "shared_calls.h"

namespace ses::run {

// Waits.  True: guardian and worker are dead, and this process is to be the guardian.  False:
// nobody is left to call, or another keeper takes over.
bool keep(SharedCalls &calls);

} // namespace ses::run

#endif // SES_RUN_SUPERVISOR_KEEPER_H
