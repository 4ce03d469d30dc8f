/*
 * One process of another node, served by a process of this node that has its user's rights.
 */
#ifndef SES_REMOTE_SESSION_H
#define SES_REMOTE_SESSION_H

#include <stdint.h>
#include <sys/types.h>

/* Told once who was proven, before that user is served. */
typedef void ses_remote_proven(uid_t user);

/* Shake hands over CONNECTION, become the user who was proven, and serve until the other side is
 * gone: once in a process.  POLL_NS: how long it looks for the next request before it sleeps; 0:
 * some microseconds.  0, or an error number, which the other side was told where that was possible.
 */
int ses_remote_serve(int connection, const char *provider, uint64_t poll_ns,
                     ses_remote_proven *proven);

#endif /* SES_REMOTE_SESSION_H */
