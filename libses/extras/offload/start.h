/*
 * Starting a storage part on a node, and meeting it.
 */
#ifndef SES_OFFLOAD_START_H
#define SES_OFFLOAD_START_H

#include <sys/types.h>

#include "ses/offload.h"
#include "transport.h"

struct offload_part {
  pid_t child; /* ssh, another such command, or the storage part itself */
  int line;    /* its standard input and output: ends when it ends */
  char endpoint[OFFLOAD_ENDPOINT_MAX], key[OFFLOAD_KEY_TEXT];
};

#define OFFLOAD_REASON_MAX 512

/* Of several addresses, parted by commas, the one whose node has least to do.  OK, INVALID, MEMORY,
 * NOT_STARTED or OTHER_VERSION, with the reason as text. */
int offload_start_part(const char *addresses, const ses_offload_options *options,
                       const char *own_key, struct offload_part *part,
                       char reason[OFFLOAD_REASON_MAX]);
/* Ends it and waits until it has gone. */
void offload_end_part(struct offload_part *part);

#endif /* SES_OFFLOAD_START_H */
