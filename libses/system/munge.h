/*
 * MUNGE credentials, by libmunge, which is loaded when it is asked for and not linked: who made one
 * is proven by the munged of its node, and each can be shown once.
 *
 * SOCKET is where munged listens; NULL or empty: MUNGE's own default.  A munged that does not
 * answer is waited for some seconds.  Any thread.
 */
#ifndef SES_MUNGE_H
#define SES_MUNGE_H

#include <stddef.h>
#include <sys/types.h>

#ifdef __cplusplus
extern "C" {
#endif

#define SES_MUNGE_LIBRARY "libmunge.so.2"

/* 0, or ENOTSUP: there is no libmunge. */
int ses_munge_load(void);

/* A credential of this process' user over TEXT.  0; ENOTSUP; EMSGSIZE; ENOMEM; or EACCES: munged
 * makes none, and WHY, unless NULL, is the reason. */
int ses_munge_make(const char *socket, const char *text, char *credential, size_t room,
                   const char **why);

/* Who made CREDENTIAL over TEXT.  EACCES: nobody, or over something else, or it was shown before.
 */
int ses_munge_check(const char *socket, const char *credential, const char *text, uid_t *user,
                    gid_t *group);

#ifdef __cplusplus
}
#endif

#endif /* SES_MUNGE_H */
