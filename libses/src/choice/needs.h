/*
 * What a file needs: the entry of its application among those that the agent
 * published for this user (ses/claims.h), and what the program states itself.
 */
#ifndef SES_NEEDS_H
#define SES_NEEDS_H

#include <stdbool.h>
#include <stdint.h>

#include "ses/claims.h"

/* The number of the entry for the application of this ses_segment_hash(), else of the default one,
 * into *ENTRY.  False: there is none, or it is being written. */
bool ses_needs_find(const struct ses_claims *claims, uint64_t application, unsigned *entry);

/* A copy of that ENTRY's need and digest, whole, though nothing in it is checked.  False: it is
 * being written, or is about another application by now. */
bool ses_needs_read(const struct ses_claims *claims, unsigned entry, uint64_t application,
                    struct ses_core_need *need, uint64_t *digest);

/* ses_core_merge() of COUNT requirements in the units of ses/protocol.h; not those of kinds that it
 * does not know. */
uint32_t ses_needs_merge(struct ses_core_need *need, const struct ses_core_need *entry,
                         const struct ses_wire_requirement *stated, unsigned count);

#endif /* SES_NEEDS_H */
