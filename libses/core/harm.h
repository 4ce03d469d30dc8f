/* What own streams lose to a file that comes; see struct ses_core_verdict in ses/core.h. */
#ifndef SES_CORE_HARM_H
#define SES_CORE_HARM_H

#include "number.h"
#include "ses/core.h"

/* s, 0..1, where MET is the part of the bound that is there. */
static inline double shortfall(double met) {
  return larger(smaller(1.0 - met, 1.0), 0.0); /* 1 where MET is not known */
}

/* Into `harm` of each verdict. */
void ses_core_find_harm(const struct ses_core_query *query, struct ses_core_verdict *verdicts);

#endif /* SES_CORE_HARM_H */
