/*
 * Which devices may hold placed files, remembered per process so that a
 * create elsewhere costs one statx().
 *
 * A fixed table of atomic words, no lock.  Two devices that meet in one slot
 * push each other out, which costs a question more and nothing else.
 */
#ifndef SES_DEVICE_H
#define SES_DEVICE_H

#include <stdbool.h>

enum ses_device_state {
  SES_DEVICE_UNKNOWN = 0,
  SES_DEVICE_POSSIBLE = 1,    /* of a kind some back end handles: the agent knows the rest */
  SES_DEVICE_NOT_MANAGED = 2, /* for some seconds */
  SES_DEVICE_IN_PLACE = 3,    /* possible, and the back end makes files in place */
};

/* What is remembered of device MAJOR:MINOR. */
enum ses_device_state ses_device_lookup(unsigned major, unsigned minor);

/* Remember STATE: POSSIBLE and NOT_MANAGED by kind of file system for a minute, the agent's
 * NOT_MANAGED (BY_AGENT) for five seconds, as the site's description may change. */
void ses_device_remember(unsigned major, unsigned minor, enum ses_device_state state,
                         bool by_agent);

#endif /* SES_DEVICE_H */
