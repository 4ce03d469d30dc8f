/*
 * What to call with: names, paths, flags and modes, drawn from a seed.
 */
#ifndef CHOICES_H
#define CHOICES_H

#include <limits.h>
#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#define PATH_SPACE (2 * PATH_MAX)
#define ANY(array) ((array)[pick(sizeof(array) / sizeof *(array))])

/* Begin with a seed, in a directory; false: no memory. */
bool choose(uint64_t seed, const char *directory);

/* A number below BOUND. */
unsigned pick(unsigned bound);

/* A name relative to the directory; valid until the next but one is asked for. */
const char *any_name(void);

/* A path (in SPACE, of PATH_SPACE bytes, if it needs some): relative, absolute, at the very end of
 * what can be read, or no address at all. */
const char *any_path(char *space);

int any_flags(void);
mode_t any_mode(void);
const char *any_stream_mode(void);

#endif
