/* What a storage part sends to its client: first the line by which they meet (the input begins with
 * 'm'), else replies to calls, right ones that are changed at one place and others, in any order
 * with what the client does.  A step is four bytes: what, and three that say how. */
#include <sys/socket.h>
#include <unistd.h>
#include <zmq.h>

#include "domain.h"
#include "offload.h"
/* What reads the line is its own. */
#include "start.c"

enum { CALLS = 4, STEP = 4 };

static void meet_one(const uint8_t *data, size_t size) {
  struct offload_part part = {.line = -1};
  char reason[OFFLOAD_REASON_MAX] = "";
  unsigned long load;
  int ends[2];
  MUST(socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends) == 0);
  size_t sent = 0;
  for (ssize_t written = 1; written > 0; sent += written > 0 ? (size_t)written : 0)
    written = sent < size ? send(ends[1], data + sent, size - sent, MSG_DONTWAIT) : 0;
  shutdown(ends[1], SHUT_WR);
  part.line = ends[0];
  if (meet(&part, "node", "-", "key", 0, &load, reason) == SES_OFFLOAD_OK) {
    MUST(memchr(part.endpoint, 0, sizeof part.endpoint) && part.endpoint[0]);
    MUST(memchr(part.key, 0, sizeof part.key) && part.key[0]);
  } else
    MUST(memchr(reason, 0, sizeof reason) && reason[0]);
  close(ends[0]);
  close(ends[1]);
}

struct conversation {
  ses_offload_domain *domain;
  void *part; /* the storage part's end */
  int line;
  ses_offload_future *call[CALLS];
};

/* As a client that is connected; its storage part is here. */
static void begin(struct conversation *with) {
  ses_offload_domain *made = calloc(1, sizeof *made);
  int ends[2];
  MUST(made && socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends) == 0);
  pthread_mutex_init(&made->lock, NULL);
  made->owner = getpid();
  made->part.line = ends[0];
  made->fallback = SES_OFFLOAD_FALLBACK_ALWAYS;
  made->context = zmq_ctx_new();
  zmq_ctx_set(made->context, ZMQ_IO_THREADS, 0);
  with->part = zmq_socket(made->context, ZMQ_PAIR);
  made->socket = zmq_socket(made->context, ZMQ_PAIR);
  made->events = zmq_socket(made->context, ZMQ_PAIR);
  size_t size = sizeof made->ready;
  MUST(TEMP_FAILURE_RETRY(zmq_bind(with->part, "inproc://part")) == 0 &&
       TEMP_FAILURE_RETRY(zmq_connect(made->socket, "inproc://part")) == 0);
  MUST(TEMP_FAILURE_RETRY(zmq_bind(made->events, "inproc://events")) == 0);
  MUST(zmq_getsockopt(made->socket, ZMQ_FD, &made->ready, &size) == 0);
  with->domain = made;
  with->line = ends[1];
}

/* The right answer to the next call, with the byte at HOW[0] changed by HOW[1] and as much of its
 * end left out as HOW[2] says. */
static void answer(struct conversation *with, const uint8_t *how) {
  zmq_msg_t call;
  ses_offload_writer reply;
  zmq_msg_init(&call);
  if (zmq_msg_recv(&call, with->part, ZMQ_DONTWAIT) >= 0) {
    offload_writer_begin(&reply);
    offload_perform(zmq_msg_data(&call), zmq_msg_size(&call), &reply);
    size_t size = reply.bytes.size - how[2] % reply.bytes.size;
    reply.bytes.data[how[0] % size] ^= (char)how[1];
    zmq_send(with->part, reply.bytes.data, size, ZMQ_DONTWAIT);
    offload_writer_free(&reply);
  }
  zmq_msg_close(&call);
}

/* A result that was taken can be used. */
static void use(ses_offload_future *future) {
  struct item out = {0};
  ses_offload_report report;
  int status = ses_offload_wait(future, 0, &out, &report);
  if (status == SES_OFFLOAD_NOT_YET || status == SES_OFFLOAD_INVALID)
    return;
  MUST(memchr(report.message, 0, sizeof report.message));
  MUST(status >= SES_OFFLOAD_OK && status <= SES_OFFLOAD_FORKED);
  if (status == SES_OFFLOAD_OK) {
    (void)sum(&out);
    ses_offload_release(&item_type, &out);
  }
  (void)sum(&global);
}

/* Returns how many bytes of what follows the step were its message. */
static size_t step(struct conversation *with, const uint8_t *how, const uint8_t *rest,
                   size_t left) {
  double values[] = {1, 2};
  const struct item in = {.name = "in", .values = values, .count = 2};
  ses_offload_future **call = &with->call[how[1] % CALLS];
  size_t size = how[2] < left ? how[2] : left;
  switch (how[0] % 7) {
  case 0:
    if (!*call)
      MUST(ses_offload_start(with->domain, "turn", &in, call) == SES_OFFLOAD_OK);
    return 0;
  case 1:
    answer(with, how + 1);
    return 0;
  case 2:
    zmq_send(with->part, rest, size, ZMQ_DONTWAIT);
    return size;
  case 3:
    if (*call)
      use(*call);
    return 0;
  case 4:
    ses_offload_cancel(*call);
    return 0;
  case 5:
    ses_offload_free(*call);
    *call = NULL;
    return 0;
  default:
    if (how[1] % 16 == 0) /* it has gone */
      shutdown(with->line, SHUT_WR);
    else
      send(with->line, how, STEP, MSG_DONTWAIT | MSG_NOSIGNAL);
    return 0;
  }
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
  register_both();
  if (size > 0 && data[0] == 'm') {
    meet_one(data + 1, size - 1);
    return 0;
  }
  struct conversation with = {0};
  begin(&with);
  while (size >= STEP) {
    const uint8_t *how = data;
    size_t used = STEP + step(&with, how, data + STEP, size - STEP);
    data += used;
    size -= used;
  }
  shutdown(with.line, SHUT_WR); /* every call ends, at the latest with the storage part */
  for (int i = 0; i < CALLS; i++)
    if (with.call[i]) {
      while (ses_offload_poll(with.call[i]) == SES_OFFLOAD_NOT_YET)
        ; /* it looks at one byte of what was printed at a time */
      use(with.call[i]);
      ses_offload_free(with.call[i]);
    }
  close(with.line);
  zmq_close(with.part);
  ses_offload_close(with.domain);
  return 0;
}
