/*
 * Whether the seccomp filter of this process is the one that ses-run has found harmless, and no
 * other was added.
 *
 * A process adds one only with no_new_privs, or with rights that ses-run has tried that nobody
 * below it has, or gets in another user namespace.
 */
#ifndef SES_KNOWN_FILTER_H
#define SES_KNOWN_FILTER_H

#include <stdbool.h>

/* SAID: the value of SES_FILTERS, "BOOT-ID:MOUNTS:USERS" with the numbers of the namespaces that
 * ses-run saw; a container has mounts of its own.  NULL: not set.  Asked while the library is
 * loaded: the dynamic loader has just opened, read and closed files under the same filter. */
bool ses_filter_is_known(const char *said);

/* Asked before each create, where it was known; adds prctl() and statx(). */
bool ses_filter_is_the_only_one(void);

#endif /* SES_KNOWN_FILTER_H */
