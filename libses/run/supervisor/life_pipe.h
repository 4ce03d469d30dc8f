// How a keeper learns that guardian and worker have died together: a pipe whose writing end all
// guardians and workers hold, and nobody else.
#ifndef SES_RUN_SUPERVISOR_LIFE_PIPE_H
#define SES_RUN_SUPERVISOR_LIFE_PIPE_H

#include "shared_calls.h"

namespace ses::run {

// Its descriptors: what a keeper looks at, and what the others hold.
inline constexpr int kLifeRead = 6;
inline constexpr int kLifeWrite = 7;

// Gives the guardians and workers that this process starts, and itself, a pipe of their own, which
// counts from now on.  False: there is none to be had, and nothing has changed.
bool make_life_pipe(SharedCalls &calls);

// Keeper: the others of its pipe are dead.  True for one keeper of the pipe that counts, however
// many there are: it takes over.
bool is_first_to_take_over(SharedCalls &calls);

} // namespace ses::run

#endif // SES_RUN_SUPERVISOR_LIFE_PIPE_H
