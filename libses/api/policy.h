/*
 * What a policy is made of; programs see it only through ses/ses.h.
 */
#ifndef SES_POLICY_H
#define SES_POLICY_H

#include <stdbool.h>
#include <stdint.h>

#include "place/place.h"
#include "ses/ses.h"

struct ses_minimum {
  bool stated;
  bool hard;
  double minimum;
  double weight;
};

struct ses_policy {
  ses_status first_refusal;
  struct ses_minimum minimums[SES_FREE_CAPACITY + 1]; /* by ses_requirement_kind; [0] is unused */
  int64_t expected_bytes;                             /* -1: not known */
  uint64_t stripe_size;
  unsigned stripe_count;
  char pool[SES_POOL_MAX];               /* empty: any */
  char application[SES_APPLICATION_MAX]; /* empty: the process's own name */
};

/* The question POLICY (NULL: an empty one) stands for.  NEED points into POLICY. */
void ses_policy_need(const ses_policy *policy, struct ses_need *need);

#endif /* SES_POLICY_H */
