// How a standby learns that watchdog and worker have died together: a pipe whose writing end all
// watchdogs and workers hold, and nobody else.
#ifndef SES_RUN_SUPERVISOR_LIFE_PIPE_H
#define SES_RUN_SUPERVISOR_LIFE_PIPE_H

#include "shared_calls.h"

namespace ses::run {

// Its descriptors: the reading end of a standby, the writing end of watchdogs and workers.
inline constexpr int kLifeRead = 6;
inline constexpr int kLifeWrite = 7;

// Gives the watchdogs and workers that this process starts, and itself, a pipe of their own, which
// counts from now on.  False: there is none to be had, and nothing has changed.
bool make_life_pipe(SharedCalls &calls);

// A standby calls this when the writers of its pipe are dead.  True for exactly one standby of the
// pipe that counts: it takes over.
bool is_first_to_take_over(SharedCalls &calls);

} // namespace ses::run

#endif // SES_RUN_SUPERVISOR_LIFE_PIPE_H
