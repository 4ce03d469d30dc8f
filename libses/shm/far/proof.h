/*
 * What the two sides' credentials are about: see message.h.
 */
#ifndef SES_FAR_PROOF_H
#define SES_FAR_PROOF_H

#include "far/message.h"
#include "net/tcp.h"

#define SES_FAR_ABOUT 384u

enum ses_far_side { SES_FAR_AGENT, SES_FAR_PROCESS };

/* What SIDE's credential says: over the other side's NUMBER, of the AGENT there. */
void ses_far_about(enum ses_far_side side, const uint8_t number[SES_FAR_NUMBER],
                   const struct ses_tcp_address *agent, char about[SES_FAR_ABOUT]);

/* A number that nobody can guess. */
int ses_far_random(uint8_t number[SES_FAR_NUMBER]);

#endif /* SES_FAR_PROOF_H */
