/*
 * The breaker: after a conversation with the agent has failed, the process
 * does not try again for a while, so that an agent that is away or stuck
 * costs a program one wait, not one per file.
 *
 * The pause starts at 0.2 s and doubles with every failure in a row up to
 * 51.2 s; one answer ends it.  When a pause is over exactly one caller may
 * try; the others go on as if it lasted.  One atomic word per process, no
 * lock; a child of fork() starts with its parent's state.
 */
#ifndef SES_BREAKER_H
#define SES_BREAKER_H

#include <stdbool.h>

/* False while a pause lasts.  Changes nothing. */
bool ses_breaker_may_ask(void);

/* The same, for a caller that asks if it may: takes the only try when a pause is over. */
bool ses_breaker_take(void);

void ses_breaker_failed(void);
void ses_breaker_answered(void);

#endif /* SES_BREAKER_H */
