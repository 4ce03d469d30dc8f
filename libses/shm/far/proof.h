/*
 * How the two sides prove who they are to each other: see message.h.  munged's socket is what
 * SES_MUNGE_SOCKET says, else MUNGE's own.
 */
#ifndef SES_FAR_PROOF_H
#define SES_FAR_PROOF_H

#include <sys/types.h>

#include "far/message.h"
#include "net/tcp.h"

enum ses_far_side { SES_FAR_AGENT, SES_FAR_PROCESS };

/* Put SIDE's credential into PROOF, over the other side's NUMBER, of the AGENT there. */
int ses_far_prove(enum ses_far_side side, const uint8_t number[SES_FAR_NUMBER],
                  const struct ses_tcp_address *agent, struct ses_far_proof *proof);

/* Who made the credential in PROOF, which came from SIDE.  EACCES: it is none of these. */
int ses_far_believe(enum ses_far_side side, const uint8_t number[SES_FAR_NUMBER],
                    const struct ses_tcp_address *agent, const struct ses_far_proof *proof,
                    uid_t *user, gid_t *group);

/* A number that nobody can guess. */
int ses_far_random(uint8_t number[SES_FAR_NUMBER]);

#endif /* SES_FAR_PROOF_H */
