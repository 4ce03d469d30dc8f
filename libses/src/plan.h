/*
 * Taking a ticket out of the plan, and reporting what became of it; see
 * ses/plan.h.  Everything that is read there is copied once and checked
 * before it is used; no loop depends on what is found there alone.
 *
 * Makes no system call but geteuid(), apart from the first time and then at
 * most once a second while there is no plan.  Async-signal-safe, no lock, no
 * heap.  Does NOT serve children of vfork() and processes under a seccomp
 * filter: the caller sees to that.
 */
#ifndef SES_PLAN_USE_H
#define SES_PLAN_USE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "ses/plan.h"

/* An entry that was found; a value to be passed on. */
struct ses_plan_spot {
  struct ses_plan *plan;
  unsigned entry;
  uint32_t sequence;
};

/* A slot for a report that was claimed. */
struct ses_plan_claim {
  struct ses_plan_report *report;
  uint64_t state; /* as long as it is this claim's */
};

/* How the create ended. */
struct ses_plan_end {
  uint64_t device; /* of the file; with inode, when it was created */
  uint64_t inode;
  uint64_t directory_device;
  uint64_t directory_inode;
  enum ses_outcome outcome;
  int error;
  int fd;
};

/* The entry about what ses_plan_about() gave ABOUT for, on device MAJOR:MINOR, else, if OR_DEFAULT,
 * the user's default entry there.  False: there is none, or no plan at all. */
bool ses_plan_find(struct ses_plan_spot *spot, uint64_t about, bool or_default, unsigned major,
                   unsigned minor);

/* True when the entry seems to have a ticket. */
bool ses_plan_has(const struct ses_plan_spot *spot);

/* Take a ticket: ANSWER is then as the agent would have given it, and CLAIM must be reported.
 * False: there is nothing to take, or no room to report; nothing has changed. */
bool ses_plan_take(const struct ses_plan_spot *spot, struct ses_plan_claim *claim,
                   struct ses_answer *answer);

/* Put into the report what is known before the create, PATH of LENGTH bytes among it. */
void ses_plan_begin(const struct ses_plan_claim *claim, int dirfd, const char *path, size_t length,
                    const char *application);

/* Tell the agent that there was nothing to take. */
void ses_plan_missed(const struct ses_plan_spot *spot);

void ses_plan_report(struct ses_plan_claim *claim, const struct ses_plan_end *end);

#endif /* SES_PLAN_USE_H */
