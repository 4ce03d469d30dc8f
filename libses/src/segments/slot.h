/*
 * One claim's slot in this user's segment (struct ses_claim in ses/claims.h):
 * taking it before a file's place is chosen, and saying what became of the file.
 */
#ifndef SES_SLOT_H
#define SES_SLOT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "segments/claims_segment.h"

/* A slot that was taken; a value to be passed on. */
struct ses_slot {
  struct ses_claim *claim;
  uint64_t state;        /* as long as it is this claim's */
  uint64_t placement_id; /* of the claim's number */
};

/* How the create ended. */
struct ses_slot_end {
  uint64_t device; /* of the file; with inode, when it was created */
  uint64_t inode;
  uint64_t directory_device;
  uint64_t directory_inode;
  enum ses_outcome outcome;
  int error;
  int fd;
};

/* Take a free slot.  False: there is none to be had, and nothing has changed. */
bool ses_slot_take(const struct ses_claims_of *of, struct ses_slot *slot);

/* Give it back: nothing was claimed. */
void ses_slot_give_back(const struct ses_slot *slot);

/* Put in whose file is to be made: PATH of LENGTH bytes, from DIRFD, for process PID. */
void ses_slot_describe(const struct ses_slot *slot, int dirfd, const char *path, size_t length,
                       const char *application, int pid);

/* Say how it ended; the slot is the agent's from then on. */
void ses_slot_complete(const struct ses_slot *slot, const struct ses_slot_end *end);

#endif /* SES_SLOT_H */
