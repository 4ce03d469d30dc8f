/*
 * What a domain's two sides say to each other, one message each:
 *
 *   request  CALL id name globals input | CANCEL id
 *   reply    id status function_status message seconds cpu_seconds globals output
 *
 * Input and output are what the function's types write; globals are a count, then name and value
 * of each: all in a request, those that changed in a reply.
 */
#ifndef SES_OFFLOAD_MESSAGE_H
#define SES_OFFLOAD_MESSAGE_H

#include "registry.h"

enum { OFFLOAD_CALL = 1, OFFLOAD_CANCEL = 2 };

struct offload_head {
  uint64_t kind, id;
};

void offload_write_head(ses_offload_writer *to, uint64_t kind, uint64_t id);
struct offload_head offload_read_head(ses_offload_reader *from);

/* Writes a whole call; HERE: without globals, which the function sees by itself. */
int offload_write_call(ses_offload_writer *to, uint64_t id, const char *name, const void *in,
                       bool here);

struct offload_reply {
  uint64_t id;
  ses_offload_report report;
};

/* Up to the globals, which follow in FROM. */
void offload_read_reply(ses_offload_reader *from, struct offload_reply *reply);
void offload_write_reply(ses_offload_writer *to, const struct offload_reply *reply);

/* Runs the call that REQUEST holds and writes its reply.  Whatever the request is, there is one. */
void offload_perform(const void *request, size_t size, ses_offload_writer *reply);

/* In the storage part: asks whether the call of this number was given up. */
extern bool (*offload_given_up)(uint64_t id);

#endif /* SES_OFFLOAD_MESSAGE_H */
