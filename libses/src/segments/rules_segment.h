/*
 * Finding the site's rules (ses/rules.h) and deciding whether they may be
 * trusted.  Attached once, for reading, and never detached: somebody may be
 * reading.
 */
#ifndef SES_RULES_SEGMENT_H
#define SES_RULES_SEGMENT_H

#include "ses/rules.h"

/* The rules in force, or NULL.  Looks for a segment at most once a second. */
const struct ses_rules *ses_rules_segment(void);

#endif /* SES_RULES_SEGMENT_H */
