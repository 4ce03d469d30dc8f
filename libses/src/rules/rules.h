/*
 * Which files are to be placed at all: what the site published (ses/rules.h)
 * and what SES_INCLUDE and SES_EXCLUDE say for one run.  Who excludes a file
 * has the last word; a list of what to include counts where it is given.
 *
 * Paths are compared as text: what the program gave, after the directory that
 * it is relative to, with its "." and doubled '/' taken out.  Symbolic links
 * are not followed, except in a path with "..", which is taken to where the
 * kernel resolves it.  A path that is unknown, or does not fit into the room
 * given, counts as excluded.
 *
 * Costs nothing but a look at a pointer, once a second at a key, while there
 * are no rules.  No lock, no heap; async-signal-safe.
 */
#ifndef SES_RULES_USE_H
#define SES_RULES_USE_H

#include <stdbool.h>
#include <stddef.h>

struct ses_need; /* request/need.h */

/* May the file be placed?  PATH (from DIRFD, as in openat) has LENGTH bytes, the first
 * PARENT_LENGTH of them lead to its directory; NEED, if given, knows whether somebody else than
 * this program calls it otherwise.  ROOM of SIZE bytes is for the whole path. */
bool ses_rules_allow(const struct ses_need *need, int dirfd, const char *path, size_t length,
                     size_t parent_length, char *room, size_t size);

#endif /* SES_RULES_USE_H */
