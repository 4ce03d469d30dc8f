/*
 * How much memory one user may have by sessions of this agent: so many bytes of segments, all that
 * the user made on this node counted, and as many that the user's sessions hold for values.
 */
#ifndef SES_REMOTE_MEMORY_H
#define SES_REMOTE_MEMORY_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

/* Of the process that listens: how much, in bytes, before any session; and a session's end. */
void ses_memory_limit(uint64_t bytes);
void ses_memory_ended(pid_t session);

/* This session holds BYTES more for values.  False: its user would have too much; nothing has
 * changed. */
bool ses_memory_take(uint64_t bytes);
void ses_memory_give_back(uint64_t bytes);

/* Whether all segments that USER made are no more than allowed.  True where there is no limit. */
bool ses_memory_fits(uid_t user);

#endif /* SES_REMOTE_MEMORY_H */
