#include "far/fabric.h"

#include <dlfcn.h>
#include <errno.h>
#include <poll.h>
#include <pthread.h>
#include <rdma/fabric.h>
#include <rdma/fi_cm.h>
#include <rdma/fi_domain.h>
#include <rdma/fi_endpoint.h>
#include <rdma/fi_errno.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "lock.h"

#define API FI_VERSION(1, 17)
#define LIBRARY "libfabric.so.1"
#define SPIN_NS 20000u /* a message that comes soon needs no system call */
#define NAP_NS 20000u  /* the first, of a provider that cannot wake who waits */
#define LONGEST_NAP_NS 1000000u
#define SLEEP_MS 50 /* at most, of one that can */

enum way { OUT, IN, WAYS };

struct ses_fabric {
  struct fi_info *info;
  struct fid_fabric *fabric;
  struct fid_domain *domain;
  struct fid_av *addresses;
  struct fid_cq *queue;
  struct fid_ep *endpoint;
  struct fid_mr *memory; /* of both buffers; NULL: the provider asks for none */
  struct fi_context2 contexts[WAYS];
  bool pending[WAYS];
  bool failed;
  char *buffers; /* for a message of each way */
  size_t room;
  size_t came; /* bytes of the last message */
  fi_addr_t peer;
  int connection;
  int wakes; /* what becomes readable when something happened; -1: nothing does */
};

/* The functions of libfabric that are not inline in its headers. */
static struct {
  int (*getinfo)(uint32_t, const char *, const char *, uint64_t, const struct fi_info *,
                 struct fi_info **);
  void (*freeinfo)(struct fi_info *);
  struct fi_info *(*dupinfo)(const struct fi_info *);
  int (*fabric)(struct fi_fabric_attr *, struct fid_fabric **, void *);
} libfabric;

static void load(void) {
  void *library = dlopen(LIBRARY, RTLD_NOW | RTLD_LOCAL);
  if (!library)
    return;
  *(void **)&libfabric.getinfo = dlsym(library, "fi_getinfo");
  *(void **)&libfabric.freeinfo = dlsym(library, "fi_freeinfo");
  *(void **)&libfabric.dupinfo = dlsym(library, "fi_dupinfo");
  *(void **)&libfabric.fabric = dlsym(library, "fi_fabric");
}

static bool is_loaded(void) {
  static pthread_once_t once = PTHREAD_ONCE_INIT;
  pthread_once(&once, load);
  return libfabric.getinfo && libfabric.freeinfo && libfabric.dupinfo && libfabric.fabric;
}

static struct fi_info *look_for(const char *provider, const char *host) {
  struct fi_info *hints = libfabric.dupinfo(NULL), *found = NULL;
  if (!hints)
    return NULL;
  hints->caps = FI_MSG;
  hints->mode = FI_CONTEXT | FI_CONTEXT2;
  hints->ep_attr->type = FI_EP_RDM;
  hints->domain_attr->mr_mode = FI_MR_LOCAL | FI_MR_ALLOCATED | FI_MR_VIRT_ADDR | FI_MR_PROV_KEY;
  hints->domain_attr->resource_mgmt = FI_RM_ENABLED;
  hints->tx_attr->op_flags = FI_COMPLETION;
  hints->fabric_attr->prov_name = (char *)(uintptr_t)provider;
  bool one_node = strncmp(provider, "shm", 3) == 0; /* its addresses are none of the network */
  if (libfabric.getinfo(API, one_node ? NULL : host, NULL, one_node || !host ? 0 : FI_SOURCE, hints,
                        &found) != 0)
    found = NULL;
  hints->fabric_attr->prov_name = NULL; /* the caller's */
  libfabric.freeinfo(hints);
  return found;
}

void ses_fabric_prepare(const char *provider) {
  bool without_device = strncmp(provider, "tcp", 3) == 0 || strncmp(provider, "shm", 3) == 0;
  struct fi_info *found = without_device && is_loaded() ? look_for(provider, NULL) : NULL;
  if (found)
    libfabric.freeinfo(found);
}

static bool open_queue(struct ses_fabric *fabric) {
  struct fi_cq_attr wanted = {.size = 16, .format = FI_CQ_FORMAT_MSG, .wait_obj = FI_WAIT_FD};
  fabric->wakes = -1;
  if (fi_cq_open(fabric->domain, &wanted, &fabric->queue, NULL) == 0)
    return fi_control(&fabric->queue->fid, FI_GETWAIT, &fabric->wakes) == 0;
  wanted.wait_obj = FI_WAIT_NONE;
  return fi_cq_open(fabric->domain, &wanted, &fabric->queue, NULL) == 0;
}

static bool open_endpoint(struct ses_fabric *fabric) {
  struct fi_av_attr wanted = {.type = FI_AV_UNSPEC};
  return libfabric.fabric(fabric->info->fabric_attr, &fabric->fabric, NULL) == 0 &&
         fi_domain(fabric->fabric, fabric->info, &fabric->domain, NULL) == 0 &&
         fi_av_open(fabric->domain, &wanted, &fabric->addresses, NULL) == 0 && open_queue(fabric) &&
         fi_endpoint(fabric->domain, fabric->info, &fabric->endpoint, NULL) == 0 &&
         fi_ep_bind(fabric->endpoint, &fabric->addresses->fid, 0) == 0 &&
         fi_ep_bind(fabric->endpoint, &fabric->queue->fid, FI_TRANSMIT | FI_RECV) == 0 &&
         fi_enable(fabric->endpoint) == 0;
}

int ses_fabric_open(const char *provider, const char *host, size_t room, int connection,
                    struct ses_fabric **fabric, struct ses_fabric_address *own) {
  if (!is_loaded())
    return ENOTSUP;
  struct ses_fabric *made = calloc(1, sizeof *made);
  if (!made)
    return ENOMEM;
  size_t bytes = sizeof own->at;
  int status = ENOTSUP;
  made->connection = connection;
  made->info = look_for(provider, host);
  if (made->info && open_endpoint(made) && fi_getname(&made->endpoint->fid, own->at, &bytes) == 0)
    status = ses_fabric_grow(made, room);
  if (status != 0) {
    ses_fabric_close(made);
    return status;
  }
  memset(own->provider, 0, sizeof own->provider);
  strncpy(own->provider, made->info->fabric_attr->prov_name, sizeof own->provider - 1);
  own->bytes = (uint32_t)bytes;
  *fabric = made;
  return 0;
}

int ses_fabric_meet(struct ses_fabric *fabric, const struct ses_fabric_address *peer) {
  return peer->bytes <= sizeof peer->at &&
                 fi_av_insert(fabric->addresses, peer->at, 1, &fabric->peer, 0, NULL) == 1
             ? 0
             : EHOSTUNREACH;
}

static void *descriptor_of(const struct ses_fabric *fabric) {
  return fabric->memory ? fi_mr_desc(fabric->memory) : NULL;
}

int ses_fabric_grow(struct ses_fabric *fabric, size_t room) {
  if (room <= fabric->room)
    return 0;
  if (room > fabric->info->ep_attr->max_msg_size)
    return EMSGSIZE;
  char *buffers = calloc(WAYS, room);
  struct fid_mr *memory = NULL;
  if (!buffers)
    return ENOMEM;
  if ((fabric->info->domain_attr->mr_mode & FI_MR_LOCAL) != 0 &&
      fi_mr_reg(fabric->domain, buffers, WAYS * room, FI_SEND | FI_RECV, 0, 0, 0, &memory, NULL) !=
          0) {
    free(buffers);
    return ENOMEM;
  }
  if (fabric->buffers) { /* a message that came stays */
    memcpy(buffers, fabric->buffers, fabric->room);
    memcpy(buffers + room, fabric->buffers + fabric->room, fabric->room);
  }
  if (fabric->memory)
    fi_close(&fabric->memory->fid);
  free(fabric->buffers);
  fabric->buffers = buffers;
  fabric->memory = memory;
  fabric->room = room;
  return 0;
}

size_t ses_fabric_room(const struct ses_fabric *fabric) { return fabric->room; }
void *ses_fabric_outgoing(struct ses_fabric *fabric) { return fabric->buffers; }
const void *ses_fabric_incoming(struct ses_fabric *fabric) {
  return fabric->buffers + fabric->room;
}

/* Take what the provider has done. */
static void progress(struct ses_fabric *fabric) {
  struct fi_cq_msg_entry done;
  ssize_t count = fi_cq_read(fabric->queue, &done, 1);
  if (count == -FI_EAVAIL) {
    struct fi_cq_err_entry fault = {0};
    fi_cq_readerr(fabric->queue, &fault, 0);
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

static void sleep_a_little(struct ses_fabric *fabric, uint64_t left_ns, uint64_t *nap_ns) {
  struct fid *queue = &fabric->queue->fid;
  /* What has to happen before the first message wakes nobody. */
  uint64_t longest = fabric->came == 0 ? 1 : SLEEP_MS;
  int most = (int)(left_ns / 1000000 < longest ? left_ns / 1000000 + 1 : longest);
  struct pollfd both[] = {{.fd = fabric->connection, .events = POLLIN | POLLRDHUP},
                          {.fd = fabric->wakes, .events = POLLIN}};
  if (fabric->wakes < 0) {
    ppoll(both, 1, &(struct timespec){.tv_nsec = (long)*nap_ns}, NULL);
    *nap_ns = *nap_ns < LONGEST_NAP_NS ? 2 * *nap_ns : *nap_ns;
  } else if (fi_trywait(fabric->fabric, &queue, 1) == 0)
    poll(both, 2, most);
}

/* Until DONE, which progress() brings about. */
static int wait_while(struct ses_fabric *fabric, const bool *pending, uint64_t deadline_ns) {
  uint64_t start = ses_lock_now_ns(), nap = NAP_NS;
  for (;;) {
    progress(fabric);
    if (!*pending)
      return 0;
    if (fabric->failed)
      return EHOSTDOWN;
    uint64_t now = ses_lock_now_ns();
    if (now - start < SPIN_NS)
      continue;
    if (is_over(fabric))
      return EHOSTDOWN;
    if (now >= deadline_ns)
      return ETIMEDOUT;
    sleep_a_little(fabric, deadline_ns - now, &nap);
  }
}

static ssize_t post(struct ses_fabric *fabric, enum way way, size_t bytes) {
  struct fi_context2 *context = &fabric->contexts[way];
  return way == OUT ? fi_send(fabric->endpoint, fabric->buffers, bytes, descriptor_of(fabric),
                              fabric->peer, context)
                    : fi_recv(fabric->endpoint, fabric->buffers + fabric->room, bytes,
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
    if (ses_lock_now_ns() >= deadline_ns)
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
  if (fabric->endpoint)
    fi_close(&fabric->endpoint->fid);
  if (fabric->memory)
    fi_close(&fabric->memory->fid);
  if (fabric->queue)
    fi_close(&fabric->queue->fid);
  if (fabric->addresses)
    fi_close(&fabric->addresses->fid);
  if (fabric->domain)
    fi_close(&fabric->domain->fid);
  if (fabric->fabric)
    fi_close(&fabric->fabric->fid);
  if (fabric->info)
    libfabric.freeinfo(fabric->info);
  free(fabric->buffers);
  free(fabric);
}
