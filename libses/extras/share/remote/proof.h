/*
 * How the two sides prove who they are to each other: see message.h.  munged's socket is what
 * SES_MUNGE_SOCKET says, else MUNGE's own.
 */
#ifndef SES_REMOTE_PROOF_H
#define SES_REMOTE_PROOF_H

#include <sys/types.h>

#include "net/tcp.h"
#include "remote/message.h"

enum ses_remote_side { SES_REMOTE_AGENT, SES_REMOTE_PROCESS };

/* Put SIDE's credential into PROOF, over the other side's NUMBER, of the AGENT there. */
int ses_remote_prove(enum ses_remote_side side, const uint8_t number[SES_REMOTE_NUMBER],
                     const struct ses_tcp_address *agent, struct ses_remote_proof *proof);

/* Who made the credential in PROOF, which came from SIDE.  EACCES: it is none of these. */
int ses_remote_believe(enum ses_remote_side side, const uint8_t number[SES_REMOTE_NUMBER],
                       const struct ses_tcp_address *agent, const struct ses_remote_proof *proof,
                       uid_t *user, gid_t *group);

/* A number that nobody can guess. */
int ses_remote_random(uint8_t number[SES_REMOTE_NUMBER]);

#endif /* SES_REMOTE_PROOF_H */
