/*
 * Directories that were looked at a short time ago and suited: a file made
 * elsewhere and named there is like one made there (no default ACL).
 *
 * The look costs two round trips to a FUSE daemon, so it is remembered for ten
 * milliseconds: long enough for a storm of creates, and shorter than it takes
 * a person or a script to change a directory and count on it.  What the program
 * itself changes is known at once (calls/xattr.c).  Does NOT remember mode
 * and group, which the kernel knows without a round trip.
 */
#ifndef SES_DEFAULT_ACL_H
#define SES_DEFAULT_ACL_H

#include <stdbool.h>
#include <stdint.h>

bool ses_directory_suits(unsigned major, unsigned minor, uint64_t inode);

/* SEEN: ses_directory_changes() from before the look. */
void ses_directory_remember(unsigned major, unsigned minor, uint64_t inode, uint64_t seen);

uint64_t ses_directory_changes(void);
void ses_directory_forget(void);

#endif /* SES_DEFAULT_ACL_H */
