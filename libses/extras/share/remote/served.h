/*
 * The processes that serve, one for each session, and how many there may be: so many whose user is
 * proven, and as many again that have proven nothing yet, which give way to others.
 *
 * Of the process that listens, which has one thread.
 */
#ifndef SES_REMOTE_SERVED_H
#define SES_REMOTE_SERVED_H

#include <stdbool.h>
#include <sys/types.h>

#define SES_SERVED_MAX 4096

/* How many may be proven, at most SES_SERVED_MAX; first of all. */
void ses_served_limit(int sessions);

/* Whether one more may begin, from this host.  Where too many have proven nothing, it takes the
 * place of the oldest from the host that has most of them: that one is killed.  One from the same
 * host keeps its place for a second. */
bool ses_served_room(const char *host);

void ses_served_begins(pid_t process, const char *host);

/* PROCESS serves this user; it is killed where the user has a quarter of all, or all are there. */
void ses_served_proven(pid_t process, uid_t user);

void ses_served_ended(pid_t process);

#endif /* SES_REMOTE_SERVED_H */
