/*
 * What became of a request: placed and where, or why not.
 */
#ifndef SES_OUTCOME_H
#define SES_OUTCOME_H

#include <stdbool.h>

#include "ses/protocol.h"

/* Why a file was, or was not, placed. */
enum ses_place_status {
  SES_PLACE_PLACED = 0,
  SES_PLACE_EXISTS,      /* the name exists: nothing was touched */
  SES_PLACE_NOT_MANAGED, /* not on a storage system we know */
  SES_PLACE_NO_AGENT,    /* no agent, or the breaker is open */
  SES_PLACE_NO_ANSWER,   /* the agent did not answer in time, or with rubbish */
  SES_PLACE_NO_DECISION, /* no element is left, or the agent lacks data */
  SES_PLACE_UNSUITED,    /* flags, mode or directory that only the original call serves exactly */
  SES_PLACE_EXCLUDED,    /* by the site's rules or this run's */
  SES_PLACE_FAILED,      /* a step failed (error): undone, or, with a descriptor returned, the file
                            lies where the file system chose */
};

struct ses_where {
  enum ses_place_status status;
  bool asked; /* the agent, since nothing could be chosen here */
  int error;
  unsigned backend; /* enum ses_backend */
  unsigned long long placement_id;
  double distance;
  char element[SES_ELEMENT_MAX];
};

#endif /* SES_OUTCOME_H */
