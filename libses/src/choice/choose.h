/*
 * Choosing where a file goes, out of the candidate table (ses/table.h), when it
 * is created, and claiming it (ses/claims.h).
 *
 * Everything that is read there is bounded before it is used; no loop depends on
 * what is found there alone.  Makes no system call but geteuid(), one futex call
 * while the agent sleeps, and those of attaching, the first time and then at most
 * once a second while there is nothing to attach.  Async-signal-safe, no lock, no
 * heap.  Does NOT serve children of vfork() and processes under a seccomp filter:
 * the caller sees to that.
 */
#ifndef SES_CHOOSE_H
#define SES_CHOOSE_H

#include <stdbool.h>
#include <stdint.h>

#include "segments/claims_segment.h"
#include "segments/slot.h"

/* Where to choose: found before it is known whether there is anything to create. */
struct ses_candidates {
  const struct ses_table *table;
  struct ses_claims_of of;
  unsigned system; /* its place in the table */
  unsigned mount;
  unsigned entry; /* of the needs */
};

/* What the program states itself. */
struct ses_stated {
  uint64_t application; /* ses_segment_hash() of its name */
  const struct ses_wire_requirement *requirements;
  unsigned count;
  unsigned stripe_count;    /* 0: not stated */
  unsigned width;           /* minimum of elements, if there are; SES_WIDTH_ALL: a pool of them */
  uint64_t stripe_size;     /* bytes; 0: not stated */
  long long expected_bytes; /* -1: not stated */
};

/* What was chosen, and claimed in SLOT. */
struct ses_choice {
  struct ses_slot slot;
  uint32_t sequence; /* of the system when it was chosen from */
  float distance;
  uint64_t bytes; /* that have to be free there */
  unsigned row_count;
  uint8_t rows[SES_CLAIMS_STRIPES];
};

/* Where files of this application, on device MAJOR:MINOR, are to be chosen for.  False: the table
 * does not have the device, or nothing about this user, or there is no table. */
bool ses_candidates_find(struct ses_candidates *candidates, uint64_t application, unsigned major,
                         unsigned minor);

/* Choose and claim.  False: nothing could be chosen, or claimed, and nothing has changed. */
bool ses_choose(const struct ses_candidates *candidates, const struct ses_stated *stated,
                struct ses_choice *choice);

/* The choice as the agent would have given it in an answer.  False: the table has changed since, or
 * makes no sense; the claim is taken back. */
bool ses_choice_answer(const struct ses_candidates *candidates, const struct ses_stated *stated,
                       const struct ses_choice *choice, struct ses_answer *answer);

#endif /* SES_CHOOSE_H */
