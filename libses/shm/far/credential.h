/*
 * MUNGE credentials, by libmunge, which is loaded when the first is asked for: who made one is
 * proven by the munged of its node, and each can be shown once.
 *
 * The socket of munged is its default, or what SES_MUNGE_SOCKET says.
 */
#ifndef SES_FAR_CREDENTIAL_H
#define SES_FAR_CREDENTIAL_H

#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

/* A credential of this process' user over TEXT.  0; ENOTSUP: there is no libmunge; EACCES: munged
 * makes none; or EMSGSIZE. */
int ses_credential_make(const char *text, char *credential, size_t room);

/* Who made CREDENTIAL over TEXT.  EACCES: nobody, or over something else, or it was shown before.
 */
int ses_credential_check(const char *credential, const char *text, uid_t *user, gid_t *group);

#endif /* SES_FAR_CREDENTIAL_H */
