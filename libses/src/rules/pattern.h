/*
 * Patterns of paths.  Bytes, not characters; no locale, no memory.
 *
 * "*" is any bytes but '/', "**" any bytes, "?" one byte but '/', "[a-z]" and
 * "[!a-z]" one byte but '/' of (not of) the set, "\" takes away what the byte after it
 * means.  A pattern without '/' is about the name of the file, one with '/'
 * about the whole path, which begins with '/'.  Dots mean nothing special.
 */
#ifndef SES_PATTERN_H
#define SES_PATTERN_H

#include <stdbool.h>
#include <stddef.h>

/* Does one of the patterns in LIST, separated by ':', fit PATH, whose name begins at NAME?  PATH is
 * not looked at when only names count, by ses_pattern_needs_path(). */
bool ses_pattern_fits(const char *list, const char *path, const char *name);

bool ses_pattern_needs_path(const char *list);

#endif /* SES_PATTERN_H */
