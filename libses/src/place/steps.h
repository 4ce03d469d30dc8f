/*
 * The two ways to a placed file: its place chosen here, or the agent asked.
 */
#ifndef SES_STEPS_H
#define SES_STEPS_H

#include "choice/choose.h"
#include "directory/entry.h"
#include "request/need.h"

/* What is created, and for whom. */
struct ses_order {
  struct ses_entry entry;
  const struct ses_need *need; /* may be NULL */
  struct ses_where *where;     /* may be NULL */
  int result;                  /* a descriptor, or -errno of the create as decided */
};

/* From the choice out of the table to the claim's end.  SES_PLACE_NO_DECISION: nothing could be
 * chosen, and the agent may know more. */
enum ses_place_status ses_place_by_choice(struct ses_order *order,
                                          const struct ses_candidates *candidates,
                                          const struct ses_stated *stated);

/* From the question to the report; once more where the staging directory was gone. */
enum ses_place_status ses_place_by_asking(struct ses_order *order);

/* The file was not created since its staging directory is gone, and the agent may be asked about
 * that now.  Another node that shares the branch removes it when its own last process of the user
 * has ended; this node's agent makes it again. */
bool ses_is_to_be_staged_again(const struct ses_order *order);

#endif /* SES_STEPS_H */
