/*
 * SES_LOG: what was done about each create, and why, one line each, into a
 * file of the user's choice.  "%p" in the path is the process's number.
 *
 * The file is opened for each line and closed after it; it has to be, or
 * become, a regular one.  Best effort: a line that cannot be written
 * (descriptor 0, 1 or 2 would be the one to be had, no descriptor left, a file
 * that has reached RLIMIT_FSIZE, too many lines in one second) is left out.  No errno, no
 * heap, no lock, no signal; costs a look at a pointer when it is not asked
 * for.
 */
#ifndef SES_LOG_H
#define SES_LOG_H

#include "request/outcome.h"
#include "settings/settings.h"

static inline bool ses_log_is_on(void) { return ses_settings()->log != NULL; }

/* What became of the create of PATH, when logging is on. */
void ses_log_create(const char *path, const struct ses_where *where);

/* SENTENCE and after it WHAT, when logging is on. */
void ses_log_note(const char *sentence, const char *what);

#endif /* SES_LOG_H */
