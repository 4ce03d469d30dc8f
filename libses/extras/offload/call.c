/*
 * Calls: synchronous ones are asynchronous ones that are waited for.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "domain.h"

#define SLICE_MS 50 /* the descriptor of a ZeroMQ socket tells of a change once: look again */

static void run_here(struct ses_offload_future *future) {
  ses_offload_writer reply;
  struct offload_reply read;
  ses_offload_reader from;
  offload_writer_begin(&reply);
  offload_perform(future->request.data, future->request.size, &reply);
  offload_reader_begin(&from, reply.bytes.data, reply.bytes.size);
  offload_read_reply(&from, &read);
  future->report = read.report;
  future->report.ran_here = true;
  offload_keep_results(future, &from);
  if (from.status != SES_OFFLOAD_OK)
    future->report.status = reply.status != SES_OFFLOAD_OK ? reply.status : SES_OFFLOAD_MEMORY;
  offload_writer_free(&reply);
  future->ended = true;
}

static int write_request(ses_offload_domain *domain, struct ses_offload_future *future,
                         const char *name, const void *in) {
  ses_offload_writer request;
  offload_writer_begin(&request);
  int status = offload_write_call(&request, future->id, name, in, domain->socket == NULL);
  future->request = request.bytes;
  future->report.bytes_sent = domain->socket ? request.bytes.size : 0;
  return status;
}

int ses_offload_start(ses_offload_domain *domain, const char *name, const void *in,
                      ses_offload_future **future) {
  if (!domain || !name || !future)
    return SES_OFFLOAD_INVALID;
  *future = NULL;
  if (domain->owner != getpid())
    return SES_OFFLOAD_FORKED;
  const struct offload_entry *entry = offload_find(name);
  if (!entry)
    return SES_OFFLOAD_NO_FUNCTION;
  if (entry->in && !in)
    return SES_OFFLOAD_INVALID;
  struct ses_offload_future *started = calloc(1, sizeof *started);
  if (!started)
    return SES_OFFLOAD_MEMORY;
  started->domain = domain;
  started->entry = entry;
  pthread_mutex_lock(&domain->lock);
  started->id = ++domain->last_id;
  int status = write_request(domain, started, name, in);
  if (status == SES_OFFLOAD_OK && domain->socket) {
    started->next = domain->pending;
    domain->pending = started;
    offload_send(domain, &started->request);
    if (domain->fallback != SES_OFFLOAD_FALLBACK_ALWAYS) {
      msgpack_sbuffer_destroy(&started->request);
      msgpack_sbuffer_init(&started->request);
    }
  }
  pthread_mutex_unlock(&domain->lock);
  if (status == SES_OFFLOAD_OK && !domain->socket)
    run_here(started);
  if (status == SES_OFFLOAD_OK)
    *future = started;
  else {
    msgpack_sbuffer_destroy(&started->request);
    free(started);
  }
  return status;
}

static bool has_ended(struct ses_offload_future *future) {
  pthread_mutex_lock(&future->domain->lock);
  if (!future->ended)
    offload_take_in(future->domain);
  bool ended = future->ended;
  pthread_mutex_unlock(&future->domain->lock);
  return ended;
}

int ses_offload_poll(ses_offload_future *future) {
  if (!future || future->used)
    return SES_OFFLOAD_INVALID;
  if (future->domain->owner != getpid())
    return SES_OFFLOAD_FORKED;
  return has_ended(future) ? future->report.status : SES_OFFLOAD_NOT_YET;
}

static double now(void) {
  struct timespec at;
  clock_gettime(CLOCK_MONOTONIC, &at);
  return (double)at.tv_sec + (double)at.tv_nsec / 1e9;
}

/* Sets the globals that the function changed, and OUT. */
static int take_results(struct ses_offload_future *future, void *out) {
  ses_offload_reader from;
  const ses_offload_type *type = future->entry->out;
  offload_reader_begin(&from, future->reply, future->reply_size);
  if (!offload_read_globals(&from) || future->report.status != SES_OFFLOAD_OK || !type)
    return from.status != SES_OFFLOAD_OK ? from.status : future->report.status;
  void *results = calloc(1, type->size);
  if (!results)
    return SES_OFFLOAD_MEMORY;
  offload_read(type, results, &from);
  if (from.status == SES_OFFLOAD_OK && out)
    memcpy(out, results, type->size);
  else
    ses_offload_release(type, results);
  free(results);
  return from.status;
}

int ses_offload_wait(ses_offload_future *future, double seconds, void *out,
                     ses_offload_report *report) {
  if (!future || future->used)
    return SES_OFFLOAD_INVALID;
  double until = now() + seconds;
  int status;
  while ((status = ses_offload_poll(future)) == SES_OFFLOAD_NOT_YET) {
    double left = seconds < 0 ? SLICE_MS : (until - now()) * 1000;
    if (left <= 0)
      return SES_OFFLOAD_NOT_YET;
    offload_sleep(future->domain, left < SLICE_MS ? (int)left + 1 : SLICE_MS);
  }
  if (status == SES_OFFLOAD_LOST && future->request.size > 0) {
    future->reply = NULL;
    run_here(future);
  }
  if (future->reply)
    future->report.status = take_results(future, out);
  if (future->ended)
    future->used = true;
  if (report)
    *report = future->report;
  return future->ended ? future->report.status : status;
}

void ses_offload_cancel(ses_offload_future *future) {
  if (!future || future->domain->owner != getpid())
    return;
  ses_offload_domain *domain = future->domain;
  ses_offload_writer message;
  offload_writer_begin(&message);
  offload_write_head(&message, OFFLOAD_CANCEL, future->id);
  pthread_mutex_lock(&domain->lock);
  offload_take_in(domain);
  for (struct ses_offload_future **at = &domain->pending; *at; at = &(*at)->next)
    if (*at == future) {
      *at = future->next;
      offload_send(domain, &message.bytes);
      future->ended = true;
      future->report.status = SES_OFFLOAD_CANCELLED;
      break;
    }
  pthread_mutex_unlock(&domain->lock);
  offload_writer_free(&message);
}

void ses_offload_free(ses_offload_future *future) {
  if (!future)
    return;
  ses_offload_cancel(future);
  msgpack_sbuffer_destroy(&future->request);
  free(future->reply);
  free(future);
}

int ses_offload_call(ses_offload_domain *domain, const char *name, const void *in, void *out,
                     ses_offload_report *report) {
  ses_offload_future *future = NULL;
  if (report)
    memset(report, 0, sizeof *report);
  int status = ses_offload_start(domain, name, in, &future);
  if (status == SES_OFFLOAD_OK)
    status = ses_offload_wait(future, -1, out, report);
  else if (report)
    report->status = status;
  if (future)
    ses_offload_free(future);
  return status;
}

int ses_offload_call_file(const char *path, const ses_offload_options *options, const char *name,
                          const void *in, void *out, ses_offload_report *report) {
  ses_offload_domain *domain = NULL;
  int status = ses_offload_open_file(path, options, &domain);
  if (status == SES_OFFLOAD_OK)
    status = ses_offload_call(domain, name, in, out, report);
  else if (report) {
    memset(report, 0, sizeof *report);
    report->status = status;
    snprintf(report->message, sizeof report->message, "%s", ses_offload_reason());
  }
  ses_offload_close(domain);
  return status;
}
