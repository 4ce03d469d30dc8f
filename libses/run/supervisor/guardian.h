// The process that answers calls when the worker does not.
#ifndef SES_RUN_SUPERVISOR_GUARDIAN_H
#define SES_RUN_SUPERVISOR_GUARDIAN_H

#include "board.h"

namespace ses::run {

// Guards until nobody is left to call.  WORKER: a pidfd; -1: it has died, or there was none.
int guard(Board &board, int worker);

} // namespace ses::run

#endif // SES_RUN_SUPERVISOR_GUARDIAN_H
