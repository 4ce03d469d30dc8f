#include "domain.h"

#include <errno.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <zmq.h>

#include "init.h"
#include "place.h"

#define ADDRESS_MAX 1200 /* bytes of some names of nodes, and how these are reached */

static _Thread_local char reason[OFFLOAD_REASON_MAX];

const char *ses_offload_reason(void) { return reason; }

static int connect_to(ses_offload_domain *made, const char *address,
                      const ses_offload_options *options) {
  struct offload_keys own;
  if (!offload_make_keys(&own)) {
    snprintf(reason, sizeof reason, "libzmq has no CURVE");
    return SES_OFFLOAD_NOT_STARTED;
  }
  int status = offload_start_part(address, options, own.open, &made->part, reason);
  if (status != SES_OFFLOAD_OK)
    return status;
  made->context = zmq_ctx_new();
  if (made->context)
    made->socket =
        offload_connect(made->context, made->part.endpoint, made->part.key, &own, &made->events);
  size_t size = sizeof made->ready;
  if (made->socket && zmq_getsockopt(made->socket, ZMQ_FD, &made->ready, &size) == 0)
    return SES_OFFLOAD_OK;
  snprintf(reason, sizeof reason, "%s: %s", made->part.endpoint, zmq_strerror(errno));
  offload_disconnect(made->socket, made->events);
  made->socket = made->events = NULL;
  offload_end_part(&made->part);
  return SES_OFFLOAD_NOT_STARTED;
}

/* At an address, or where a file lies. */
static int open_domain(const char *address, const char *path, const ses_offload_options *options,
                       ses_offload_domain **domain) {
  static const ses_offload_options usual;
  char node[ADDRESS_MAX];
  reason[0] = 0;
  if ((!address && !path) || !domain || !offload_is_initialised())
    return SES_OFFLOAD_INVALID;
  *domain = NULL;
  if (offload_is_storage_part() && !offload_is_serving()) {
    snprintf(
        reason, sizeof reason,
        "a storage part that does not serve yet starts no other; call ses_offload_serve first");
    return SES_OFFLOAD_INVALID;
  }
  ses_offload_domain *made = calloc(1, sizeof *made);
  if (!made)
    return SES_OFFLOAD_MEMORY;
  pthread_mutex_init(&made->lock, NULL);
  made->owner = getpid();
  made->part.line = -1;
  made->fallback = options ? options->fallback : SES_OFFLOAD_FALLBACK_NEVER;
  int status = SES_OFFLOAD_NOT_STARTED;
  if (address || offload_node_of(path, node, sizeof node, reason, sizeof reason))
    status = connect_to(made, address ? address : node, options ? options : &usual);
  bool here = status == SES_OFFLOAD_NOT_STARTED && made->fallback != SES_OFFLOAD_FALLBACK_NEVER;
  if (status == SES_OFFLOAD_OK || here) {
    *domain = made;
    return SES_OFFLOAD_OK;
  }
  ses_offload_close(made);
  return status;
}

int ses_offload_open(const char *address, const ses_offload_options *options,
                     ses_offload_domain **domain) {
  return address ? open_domain(address, NULL, options, domain) : SES_OFFLOAD_INVALID;
}

int ses_offload_open_file(const char *path, const ses_offload_options *options,
                          ses_offload_domain **domain) {
  return path ? open_domain(NULL, path, options, domain) : SES_OFFLOAD_INVALID;
}

void offload_send(ses_offload_domain *domain, const msgpack_sbuffer *message) {
  int sent;
  do
    sent = zmq_send(domain->socket, message->data, message->size, ZMQ_DONTWAIT);
  while (sent < 0 && errno == EINTR); /* a signal came */
  if (sent < 0)
    domain->lost = true;
}

void offload_keep_results(struct ses_offload_future *future, const ses_offload_reader *from) {
  future->reply = offload_reader_rest(from, &future->reply_size);
  if (!future->reply)
    future->report.status = SES_OFFLOAD_MEMORY;
}

static void take_reply(ses_offload_domain *domain, const void *data, size_t size) {
  ses_offload_reader from;
  struct offload_reply reply;
  offload_reader_begin(&from, data, size);
  offload_read_reply(&from, &reply);
  if (from.status != SES_OFFLOAD_OK) {
    domain->lost = true;
    return;
  }
  struct ses_offload_future **at = &domain->pending;
  while (*at && (*at)->id != reply.id)
    at = &(*at)->next;
  if (!*at) /* it was cancelled */
    return;
  struct ses_offload_future *future = *at;
  *at = future->next;
  uint64_t sent = future->report.bytes_sent;
  future->report = reply.report;
  future->report.bytes_sent = sent;
  future->report.bytes_received = size;
  offload_keep_results(future, &from);
  future->ended = true;
}

static bool part_has_gone(const ses_offload_domain *domain) {
  struct pollfd polled = {.fd = domain->part.line, .events = POLLIN};
  char byte;
  if (domain->lost || offload_is_cut(domain->events))
    return true;
  if (poll(&polled, 1, 0) < 1)
    return false;
  ssize_t size = recv(domain->part.line, &byte, 1, MSG_DONTWAIT);
  return size == 0 || (size < 0 && errno != EAGAIN && errno != EINTR);
}

void offload_take_in(ses_offload_domain *domain) {
  if (!domain->socket)
    return;
  bool gone = part_has_gone(domain); /* asked first: what it sent before is taken in below */
  zmq_msg_t message;
  for (;;) {
    zmq_msg_init(&message);
    if (zmq_msg_recv(&message, domain->socket, ZMQ_DONTWAIT) < 0)
      break;
    take_reply(domain, zmq_msg_data(&message), zmq_msg_size(&message));
    zmq_msg_close(&message);
  }
  zmq_msg_close(&message);
  domain->lost = domain->lost || gone;
  for (; domain->lost && domain->pending; domain->pending = domain->pending->next) {
    domain->pending->report.status = SES_OFFLOAD_LOST;
    domain->pending->ended = true;
  }
}

void offload_sleep(ses_offload_domain *domain, int ms) {
  struct pollfd both[] = {{.fd = domain->ready, .events = POLLIN},
                          {.fd = domain->part.line, .events = POLLIN}};
  poll(both, 2, ms);
}

void ses_offload_close(ses_offload_domain *domain) {
  if (!domain)
    return;
  if (domain->owner == getpid()) {
    pthread_mutex_lock(&domain->lock);
    domain->lost = true;
    offload_take_in(domain);
    pthread_mutex_unlock(&domain->lock);
    offload_end_part(&domain->part);
    offload_disconnect(domain->socket, domain->events);
    while (domain->context && zmq_ctx_term(domain->context) != 0 && errno == EINTR)
      ; /* a signal came */
  }
  pthread_mutex_destroy(&domain->lock);
  free(domain);
}
