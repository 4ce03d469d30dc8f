#include "remote/fabric.h"

#include <errno.h>
#include <poll.h>
#include <rdma/fi_errno.h>
#include <sched.h>
#include <stdlib.h>
#include <string.h>

#include "net/endpoint.h"
#include "system/clock.h"

#define SPIN_NS 20000u      /* a message that comes soon needs no system call */
#define LOOK_NS 1000000u    /* while polling: whether the other side is there */
#define MIN_PAUSE_NS 20000u /* the first, of a provider that cannot wake who waits */
#define MAX_PAUSE_NS 1000000u
#define SLEEP_MS 50 /* at most, of one that can */

enum way { OUT, IN, WAYS };

struct ses_fabric {
  struct ses_endpoint its; /* its memory: of both buffers; NULL: the provider asks for none */
  struct fi_context2 contexts[WAYS];
  bool pending[WAYS];
  bool failed;
  char *buffers; /* for a message of each way */
  size_t room;
  size_t came; /* bytes of the last message */
  fi_addr_t peer;
  int connection;
  uint64_t poll_ns; /* before a sleep, other endpoints on this core in turn; 0: SPIN_NS, alone */
  int wakes;        /* what becomes readable when something happened; -1: nothing does */
};

static const struct ses_endpoint_kind kind = {
    .capabilities = FI_MSG,
    .mode = FI_CONTEXT | FI_CONTEXT2,
    .memory_mode = FI_MR_LOCAL | FI_MR_ALLOCATED | FI_MR_VIRT_ADDR | FI_MR_PROV_KEY,
    .completion = FI_COMPLETION,
    .queue = {.size = 16, .format = FI_CQ_FORMAT_MSG, .wait_obj = FI_WAIT_FD},
    .at_host = true,
};

void ses_fabric_prepare(const char *provider) {
  if (strncmp(provider, "tcp", 3) == 0 || strncmp(provider, "shm", 3) == 0)
    ses_endpoint_prepare(&kind, provider);
}

int ses_fabric_open(const char *provider, const char *host, size_t room, int connection,
                    struct ses_fabric **fabric, struct ses_fabric_address *own) {
  struct ses_fabric *made = calloc(1, sizeof *made);
  if (!made)
    return ENOMEM;
  size_t bytes = sizeof own->at;
  int status = ENOTSUP;
  made->connection = connection;
  made->wakes = -1;
  if (!ses_endpoint_open(&made->its, &kind, provider, host) &&
      (!made->its.wakes || fi_control(&made->its.queue->fid, FI_GETWAIT, &made->wakes) == 0) &&
      fi_getname(&made->its.endpoint->fid, own->at, &bytes) == 0)
    status = ses_fabric_grow(made, room);
  if (status != 0) {
    ses_fabric_close(made);
    return status;
  }
  memset(own->provider, 0, sizeof own->provider);
  strncpy(own->provider, made->its.info->fabric_attr->prov_name, sizeof own->provider - 1);
  own->bytes = (uint32_t)bytes;
  *fabric = made;
  return 0;
}

void ses_fabric_poll(struct ses_fabric *fabric, uint64_t ns) { fabric->poll_ns = ns; }

int ses_fabric_meet(struct ses_fabric *fabric, const struct ses_fabric_address *peer) {
  return peer->bytes <= sizeof peer->at &&
                 fi_av_insert(fabric->its.addresses, peer->at, 1, &fabric->peer, 0, NULL) == 1
             ? 0
             : EHOSTUNREACH;
}

static void *descriptor_of(const struct ses_fabric *fabric) {
  return fabric->its.memory ? fi_mr_desc(fabric->its.memory) : NULL;
}

int ses_fabric_grow(struct ses_fabric *fabric, size_t room) {
  if (room <= fabric->room)
    return 0;
  if (room > fabric->its.info->ep_attr->max_msg_size)
    return EMSGSIZE;
  char *buffers = calloc(WAYS, room);
  struct fid_mr *memory = NULL;
  if (!buffers)
    return ENOMEM;
  if ((fabric->its.info->domain_attr->mr_mode & FI_MR_LOCAL) != 0 &&
      fi_mr_reg(fabric->its.domain, buffers, WAYS * room, FI_SEND | FI_RECV, 0, 0, 0, &memory,
                NULL) != 0) {
    free(buffers);
    return ENOMEM;
  }
  if (fabric->buffers) { /* a message that came stays */
    memcpy(buffers, fabric->buffers, fabric->room);
    memcpy(buffers + room, fabric->buffers + fabric->room, fabric->room);
  }
  if (fabric->its.memory)
    fi_close(&fabric->its.memory->fid);
  free(fabric->buffers);
  fabric->buffers = buffers;
  fabric->its.memory = memory;
  fabric->room = room;
  return 0;
}

size_t ses_fabric_room(const struct ses_fabric *fabric) { return fabric->room; }
void *ses_fabric_outgoing(struct ses_fabric *fabric) { return fabric->buffers; }
const void *ses_fabric_incoming(struct ses_fabric *fabric) {
  return fabric->buffers + fabric->room;
}

/* Take what the provider has done.  A message that does not fit is a stranger's, as the two sides
 * know each other's room: it counts as one of no bytes. */
static void progress(struct ses_fabric *fabric) {
  struct fi_cq_msg_entry done;
  ssize_t count = fi_cq_read(fabric->its.queue, &done, 1);
  if (count == -FI_EAVAIL) {
    struct fi_cq_err_entry fault = {0};
    if (fi_cq_readerr(fabric->its.queue, &fault, 0) == 1 && fault.err == FI_ETRUNC) {
      done = (struct fi_cq_msg_entry){.op_context = fault.op_context};
      count = 1;
    }
  }
  if (count == 1 && done.op_context == &fabric->contexts[IN])
    fabric->came = done.len;
  if (count == 1)
    fabric->pending[done.op_context == &fabric->contexts[IN] ? IN : OUT] = false;
  else if (count != -FI_EAGAIN)
    fabric->failed = true;
}

static bool is_over(const struct ses_fabric *fabric) {
  struct pollfd end = {.fd = fabric->connection, .events = POLLIN | POLLRDHUP};
  return poll(&end, 1, 0) != 0; /* nothing else is said over it */
}

static void sleep_a_little(struct ses_fabric *fabric, uint64_t left_ns, uint64_t *pause_ns) {
  struct fid *queue = &fabric->its.queue->fid;
  /* What has to happen before the first message wakes nobody. */
  uint64_t longest = fabric->came == 0 ? 1 : SLEEP_MS;
  int most = (int)(left_ns / 1000000 < longest ? left_ns / 1000000 + 1 : longest);
  struct pollfd both[] = {{.fd = fabric->connection, .events = POLLIN | POLLRDHUP},
                          {.fd = fabric->wakes, .events = POLLIN}};
  if (fabric->wakes < 0) {
    ppoll(both, 1, &(struct timespec){.tv_nsec = (long)*pause_ns}, NULL);
    *pause_ns = *pause_ns < MAX_PAUSE_NS ? 2 * *pause_ns : *pause_ns;
  } else if (fi_trywait(fabric->its.fabric, &queue, 1) == 0)
    poll(both, 2, most);
}

/* Until DONE, which progress() brings about. */
static int wait_while(struct ses_fabric *fabric, const bool *pending, uint64_t deadline_ns) {
  uint64_t start = ses_now_ns(), look_ns = start + SPIN_NS, pause_ns = MIN_PAUSE_NS;
  for (;;) {
    progress(fabric);
    if (!*pending)
      return 0;
    if (fabric->failed)
      return EHOSTDOWN;
    uint64_t now = ses_now_ns();
    if (now < look_ns) {
      if (fabric->poll_ns > 0)
        sched_yield();
      continue;
    }
    if (is_over(fabric))
      return EHOSTDOWN;
    if (now >= deadline_ns)
      return ETIMEDOUT;
    if (now - start < fabric->poll_ns)
      look_ns = now + LOOK_NS;
    else
      sleep_a_little(fabric, deadline_ns - now, &pause_ns);
  }
}

static ssize_t post(struct ses_fabric *fabric, enum way way, size_t bytes) {
  struct fi_context2 *context = &fabric->contexts[way];
  return way == OUT ? fi_send(fabric->its.endpoint, fabric->buffers, bytes, descriptor_of(fabric),
                              fabric->peer, context)
                    : fi_recv(fabric->its.endpoint, fabric->buffers + fabric->room, bytes,
                              descriptor_of(fabric), FI_ADDR_UNSPEC, context);
}

static int move(struct ses_fabric *fabric, enum way way, size_t bytes, uint64_t deadline_ns) {
  fabric->pending[way] = true;
  for (;;) { /* the provider may have to connect first */
    ssize_t status = post(fabric, way, bytes);
    if (status == 0)
      return wait_while(fabric, &fabric->pending[way], deadline_ns);
    progress(fabric);
    if (status != -FI_EAGAIN || fabric->failed || is_over(fabric))
      return EHOSTDOWN;
    if (ses_now_ns() >= deadline_ns)
      return ETIMEDOUT;
  }
}

int ses_fabric_send(struct ses_fabric *fabric, size_t bytes, uint64_t deadline_ns) {
  return move(fabric, OUT, bytes, deadline_ns);
}

int ses_fabric_receive(struct ses_fabric *fabric, size_t *bytes, uint64_t deadline_ns) {
  int status = move(fabric, IN, fabric->room, deadline_ns);
  *bytes = fabric->came;
  return status;
}

void ses_fabric_close(struct ses_fabric *fabric) {
  ses_endpoint_close(&fabric->its);
  free(fabric->buffers);
  free(fabric);
}
