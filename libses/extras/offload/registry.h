/*
 * What both roles have in common: functions and globals by name.
 */
#ifndef SES_OFFLOAD_REGISTRY_H
#define SES_OFFLOAD_REGISTRY_H

#include "coding.h"

#define OFFLOAD_NAME_MAX 128 /* bytes, with the NUL */

struct offload_entry {
  char name[OFFLOAD_NAME_MAX];
  ses_offload_function function; /* of a function */
  const ses_offload_type *in, *out;
};

/* NULL: there is none. */
const struct offload_entry *offload_find(const char *name);

/* A number of all names and types: two builds that can call each other have the same. */
uint64_t offload_fingerprint(void);

/* All globals: their count, then name and value of each. */
void offload_write_globals(ses_offload_writer *to);
/* Those that differ from what FROM, a position in a message of offload_write_globals, says. */
void offload_write_changed_globals(ses_offload_reader before, ses_offload_writer *to);
/* Sets what is read; returns false, and the reader fails, at one that is not registered. */
bool offload_read_globals(ses_offload_reader *from);

#endif /* SES_OFFLOAD_REGISTRY_H */
