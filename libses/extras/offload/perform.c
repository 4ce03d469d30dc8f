/*
 * Running one call: in the storage part, and in the caller's process as a fallback.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <time.h>

#include "message.h"

bool (*offload_given_up)(uint64_t id);
static _Atomic uint64_t running; /* in the storage part: one at a time, asked by any thread */
static _Thread_local char explanation[sizeof((ses_offload_report *)0)->message];

void ses_offload_explain(const char *text) {
  snprintf(explanation, sizeof explanation, "%s", text ? text : "");
}

bool ses_offload_is_cancelled(void) { return offload_given_up && offload_given_up(running); }

static double seconds_of(struct timeval spent) {
  return (double)spent.tv_sec + (double)spent.tv_usec / 1e6;
}

static double cpu_seconds(void) {
  struct rusage own, children;
  getrusage(RUSAGE_SELF, &own);
  getrusage(RUSAGE_CHILDREN, &children);
  return seconds_of(own.ru_utime) + seconds_of(own.ru_stime) + seconds_of(children.ru_utime) +
         seconds_of(children.ru_stime);
}

static double clock_seconds(void) {
  struct timespec now;
  clock_gettime(CLOCK_MONOTONIC, &now);
  return (double)now.tv_sec + (double)now.tv_nsec / 1e9;
}

static void *room_for(const ses_offload_type *type) { return calloc(1, type ? type->size : 1); }

/* Globals are set, input is read, the function runs.  OUT holds its results. */
static void run(const struct offload_entry *entry, ses_offload_reader *from, void *out,
                ses_offload_report *report) {
  void *in = room_for(entry->in);
  if (!in) {
    report->status = SES_OFFLOAD_MEMORY;
    return;
  }
  bool known = offload_read_globals(from);
  if (known)
    offload_read(entry->in, in, from);
  report->status = from->status;
  if (report->status == SES_OFFLOAD_OK && from->done != from->size)
    report->status = SES_OFFLOAD_BAD_DATA;
  if (report->status == SES_OFFLOAD_OK) {
    double began = clock_seconds(), cpu_began = cpu_seconds();
    explanation[0] = 0;
    report->function_status = entry->function(in, out);
    report->status = report->function_status == 0 ? SES_OFFLOAD_OK : SES_OFFLOAD_FAILED;
    report->seconds = clock_seconds() - began;
    report->cpu_seconds = cpu_seconds() - cpu_began;
    snprintf(report->message, sizeof report->message, "%s",
             report->status == SES_OFFLOAD_OK ? "" : explanation);
  }
  ses_offload_release(entry->in, in);
  free(in);
}

/* Writes head, changed globals and results; false: what there is cannot be written. */
static bool answer(const struct offload_entry *entry, const struct offload_reply *reply,
                   ses_offload_reader globals, const void *out, ses_offload_writer *to) {
  offload_write_reply(to, reply);
  if (entry)
    offload_write_changed_globals(globals, to);
  else
    ses_offload_write_unsigned(to, 0);
  if (entry && reply->report.status == SES_OFFLOAD_OK)
    offload_write(entry->out, out, to);
  return to->status == SES_OFFLOAD_OK;
}

void offload_perform(const void *request, size_t size, ses_offload_writer *to) {
  ses_offload_reader from;
  char name[OFFLOAD_NAME_MAX];
  offload_reader_begin(&from, request, size);
  struct offload_head head = offload_read_head(&from);
  struct offload_reply reply = {.id = head.id};
  offload_read_text(&from, name, sizeof name);
  const struct offload_entry *entry = from.status == SES_OFFLOAD_OK ? offload_find(name) : NULL;
  const ses_offload_reader globals = from;
  void *out = room_for(entry ? entry->out : NULL);
  if (offload_given_up)
    running = head.id;
  if (from.status != SES_OFFLOAD_OK)
    reply.report.status = from.status;
  else if (!entry)
    reply.report.status = SES_OFFLOAD_NO_FUNCTION;
  else if (!out)
    reply.report.status = SES_OFFLOAD_MEMORY;
  else if (offload_given_up && offload_given_up(head.id))
    reply.report.status = SES_OFFLOAD_CANCELLED;
  else
    run(entry, &from, out, &reply.report);
  if (!answer(entry, &reply, globals, out, to)) {
    reply.report.status = to->status;
    offload_writer_free(to);
    offload_writer_begin(to);
    answer(NULL, &reply, globals, NULL, to);
  }
  if (entry && out)
    ses_offload_release(entry->out, out);
  free(out);
}
