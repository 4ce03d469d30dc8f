/*
 * What an answer must look like to be acted on, whether it came over the
 * socket or was made of a choice here.
 */
#ifndef SES_ANSWER_H
#define SES_ANSWER_H

#include <stdbool.h>

#include "ses/protocol.h"

/* True when the fields of ANSWER that say where a file goes are sound: every string ends, every
 * number is one, and a back end accepts the rest.  Header and status are not looked at. */
bool ses_answer_is_placement(const struct ses_answer *answer);

#endif /* SES_ANSWER_H */
