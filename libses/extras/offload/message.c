#include "message.h"

#include <limits.h>
#include <stdio.h>
#include <string.h>

void offload_write_head(ses_offload_writer *to, uint64_t kind, uint64_t id) {
  ses_offload_write_unsigned(to, kind);
  ses_offload_write_unsigned(to, id);
}

struct offload_head offload_read_head(ses_offload_reader *from) {
  struct offload_head head;
  head.kind = ses_offload_read_unsigned(from, OFFLOAD_CANCEL);
  head.id = ses_offload_read_unsigned(from, UINT64_MAX);
  return head;
}

int offload_write_call(ses_offload_writer *to, uint64_t id, const char *name, const void *in,
                       bool here) {
  const struct offload_entry *entry = offload_find(name);
  if (!entry)
    return SES_OFFLOAD_NO_FUNCTION;
  offload_write_head(to, OFFLOAD_CALL, id);
  offload_write_text(to, name);
  if (here)
    ses_offload_write_unsigned(to, 0);
  else
    offload_write_globals(to);
  offload_write(entry->in, in, to);
  return to->status;
}

void offload_write_reply(ses_offload_writer *to, const struct offload_reply *reply) {
  ses_offload_write_unsigned(to, reply->id);
  ses_offload_write_unsigned(to, (uint64_t)reply->report.status);
  ses_offload_write_integer(to, reply->report.function_status);
  offload_write_text(to, reply->report.message);
  ses_offload_write_real(to, reply->report.seconds);
  ses_offload_write_real(to, reply->report.cpu_seconds);
}

void offload_read_reply(ses_offload_reader *from, struct offload_reply *reply) {
  memset(reply, 0, sizeof *reply);
  reply->id = ses_offload_read_unsigned(from, UINT64_MAX);
  reply->report.status = (int)ses_offload_read_unsigned(from, SES_OFFLOAD_CANCELLED);
  if (reply->report.status == SES_OFFLOAD_LOST) /* as what is above, only this side finds that */
    ses_offload_read_failed(from);
  reply->report.function_status = (int)ses_offload_read_integer(from, INT_MIN, INT_MAX);
  offload_read_text(from, reply->report.message, sizeof reply->report.message);
  reply->report.seconds = ses_offload_read_real(from);
  reply->report.cpu_seconds = ses_offload_read_real(from);
}
