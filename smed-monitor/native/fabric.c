#define _GNU_SOURCE
#include "fabric.h"

#include <dlfcn.h>
#include <rdma/fabric.h>
#include <rdma/fi_cm.h>
#include <rdma/fi_domain.h>
#include <rdma/fi_endpoint.h>
#include <rdma/fi_errno.h>
#include <rdma/fi_rma.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>
#include <time.h>
#include <unistd.h>

#define API FI_VERSION(1, 17)
#define LIBRARY "libfabric.so.1"
#define WAIT_MS 200
#define MEMORY_MODES                                                                               \
  (FI_MR_LOCAL | FI_MR_ALLOCATED | FI_MR_VIRT_ADDR | FI_MR_PROV_KEY | FI_MR_ENDPOINT)

struct smed_fabric {
  struct fi_info *info;
  struct fid_fabric *fabric;
  struct fid_domain *domain;
  struct fid_av *addresses;
  struct fid_cq *queue;
  struct fid_ep *endpoint;
  struct fid_mr *memory;
  bool wakes; /* the queue can be waited for */
  /* of a reader */
  struct smed_window window;
  fi_addr_t peer;
  void *buffer;
  bool begun;
};

/* The functions of libfabric that are not inline in its headers. */
static struct {
  int (*getinfo)(uint32_t, const char *, const char *, uint64_t, const struct fi_info *,
                 struct fi_info **);
  void (*freeinfo)(struct fi_info *);
  struct fi_info *(*dupinfo)(const struct fi_info *);
  int (*fabric)(struct fi_fabric_attr *, struct fid_fabric **, void *);
  bool loaded;
} libfabric;

static void find_functions(void) {
  void *library = dlopen(LIBRARY, RTLD_NOW | RTLD_LOCAL);

  if (library == NULL)
    return;
  *(void **)&libfabric.getinfo = dlsym(library, "fi_getinfo");
  *(void **)&libfabric.freeinfo = dlsym(library, "fi_freeinfo");
  *(void **)&libfabric.dupinfo = dlsym(library, "fi_dupinfo");
  *(void **)&libfabric.fabric = dlsym(library, "fi_fabric");
  libfabric.loaded = libfabric.getinfo != NULL && libfabric.freeinfo != NULL &&
                     libfabric.dupinfo != NULL && libfabric.fabric != NULL;
}

/* Some providers take signals over when they are loaded, at the latest by the first question;
 * ofi_rxm sets 80 MB aside for the messages of each endpoint, of which there are none here. */
void smed_fabric_prepare(void) {
  static const int taken[] = {SIGINT, SIGTERM, SIGSEGV, SIGBUS};
  struct sigaction before[4];
  struct fi_info *info = NULL;

  setenv("FI_OFI_RXM_BUFFER_SIZE", "512", 0);
  setenv("FI_OFI_RXM_TX_SIZE", "64", 0);
  setenv("FI_OFI_RXM_RX_SIZE", "64", 0);
  setenv("FI_OFI_RXM_MSG_TX_SIZE", "32", 0);
  setenv("FI_OFI_RXM_MSG_RX_SIZE", "32", 0);
  for (int i = 0; i < 4; i++)
    sigaction(taken[i], NULL, &before[i]);
  find_functions();
  if (libfabric.loaded && libfabric.getinfo(API, NULL, NULL, 0, NULL, &info) == 0)
    libfabric.freeinfo(info);
  for (int i = 0; i < 4; i++)
    sigaction(taken[i], &before[i], NULL);
}

static struct fi_info *found(const char *provider, const char *host, bool showing) {
  struct fi_info *hints = libfabric.dupinfo(NULL), *info = NULL;

  if (hints == NULL)
    return NULL;
  hints->caps = FI_RMA | (showing ? FI_REMOTE_READ : FI_READ | FI_WRITE);
  hints->ep_attr->type = FI_EP_RDM;
  hints->domain_attr->mr_mode = MEMORY_MODES;
  hints->domain_attr->resource_mgmt = FI_RM_ENABLED;
  hints->fabric_attr->prov_name = strdup(provider);
  bool on_one_node = strncmp(provider, "shm", 3) == 0; /* its addresses are no network addresses */
  if (libfabric.getinfo(API, on_one_node ? NULL : host, NULL,
                        showing && !on_one_node ? FI_SOURCE : 0, hints, &info) != 0)
    info = NULL;
  libfabric.freeinfo(hints);
  return info;
}

static bool open_queue(struct smed_fabric *fabric, bool showing) {
  struct fi_cq_attr attributes = {
      .size = 64, .format = FI_CQ_FORMAT_CONTEXT, .wait_obj = showing ? FI_WAIT_FD : FI_WAIT_NONE};

  fabric->wakes = showing && fi_cq_open(fabric->domain, &attributes, &fabric->queue, NULL) == 0;
  attributes.wait_obj = FI_WAIT_NONE;
  return fabric->wakes || fi_cq_open(fabric->domain, &attributes, &fabric->queue, NULL) == 0;
}

/* The provider shm names the files of its endpoints PID:UID:NUMBER and leaves them when a process
 * is killed.  What has this process's number before it opened any is such a file, and in the way.
 */
static void remove_left_behind(void) {
  static bool removed;
  char name[64];

  for (int number = 0; !removed && number < 64; number++) {
    snprintf(name, sizeof(name), "/dev/shm/%ld:%ld:%d", (long)getpid(), (long)getuid(), number);
    unlink(name);
  }
  removed = true;
}

static bool open_endpoint(struct smed_fabric *fabric, bool showing) {
  struct fi_av_attr attributes = {.type = FI_AV_UNSPEC};

  return libfabric.fabric(fabric->info->fabric_attr, &fabric->fabric, NULL) == 0 &&
         fi_domain(fabric->fabric, fabric->info, &fabric->domain, NULL) == 0 &&
         fi_av_open(fabric->domain, &attributes, &fabric->addresses, NULL) == 0 &&
         open_queue(fabric, showing) &&
         fi_endpoint(fabric->domain, fabric->info, &fabric->endpoint, NULL) == 0 &&
         fi_ep_bind(fabric->endpoint, &fabric->addresses->fid, 0) == 0 &&
         fi_ep_bind(fabric->endpoint, &fabric->queue->fid, FI_TRANSMIT | FI_RECV) == 0 &&
         fi_enable(fabric->endpoint) == 0;
}

static bool enter(struct smed_fabric *fabric, void *memory, size_t bytes, uint64_t access) {
  uint64_t key = 0;
  int mode = fabric->info->domain_attr->mr_mode;

  if (getrandom(&key, sizeof(key), 0) != (ssize_t)sizeof(key))
    return false;
  if (fabric->info->domain_attr->mr_key_size < sizeof(key))
    key &= (1ull << (8 * fabric->info->domain_attr->mr_key_size)) - 1;
  if (fi_mr_reg(fabric->domain, memory, bytes, access, 0, key, 0, &fabric->memory, NULL) != 0)
    return false;
  return (mode & FI_MR_ENDPOINT) == 0 ||
         (fi_mr_bind(fabric->memory, &fabric->endpoint->fid, 0) == 0 &&
          fi_mr_enable(fabric->memory) == 0);
}

static struct smed_fabric *opened(const char *provider, const char *host, bool showing,
                                  const char **why) {
  struct smed_fabric *fabric;

  *why = "there is no " LIBRARY;
  if (!libfabric.loaded)
    return NULL;
  *why = "there is no memory";
  if ((fabric = calloc(1, sizeof(*fabric))) == NULL)
    return NULL;
  *why = "libfabric has no such provider for one-sided reads at this address";
  fabric->info = found(provider, host, showing);
  if (fabric->info != NULL) {
    *why = "libfabric cannot open an endpoint of this provider";
    remove_left_behind();
    if (open_endpoint(fabric, showing))
      return fabric;
  }
  smed_fabric_close(fabric);
  return NULL;
}

struct smed_fabric *smed_fabric_show(const char *provider, const char *host, void *memory,
                                     size_t bytes, struct smed_window *window, const char **why) {
  struct smed_fabric *fabric = opened(provider, host, true, why);
  size_t address_bytes = SMED_FABRIC_ADDRESS;

  if (fabric == NULL)
    return NULL;
  *why = "libfabric cannot show this memory";
  if (!enter(fabric, memory, bytes, FI_REMOTE_READ) ||
      fi_getname(&fabric->endpoint->fid, window->address, &address_bytes) != 0 ||
      strlen(fabric->info->fabric_attr->prov_name) >= sizeof(window->provider)) {
    smed_fabric_close(fabric);
    return NULL;
  }
  strcpy(window->provider, fabric->info->fabric_attr->prov_name);
  window->key = fi_mr_key(fabric->memory);
  window->base =
      (fabric->info->domain_attr->mr_mode & FI_MR_VIRT_ADDR) != 0 ? (uintptr_t)memory : 0;
  window->bytes = bytes;
  window->address_bytes = (uint32_t)address_bytes;
  return fabric;
}

void smed_fabric_progress(struct smed_fabric *fabric) {
  struct fi_cq_entry entry;
  struct fi_cq_err_entry error = {0};

  if (fi_cq_read(fabric->queue, &entry, 1) == -FI_EAVAIL)
    fi_cq_readerr(fabric->queue, &error, 0);
}

void smed_fabric_serve(struct smed_fabric *fabric, const volatile int *ending) {
  while (!*ending) {
    struct fi_cq_entry entry;

    if (fabric->wakes)
      fi_cq_sread(fabric->queue, &entry, 1, NULL, WAIT_MS);
    else
      nanosleep(&(struct timespec){.tv_nsec = 20000000}, NULL); /* its queue holds more */
    smed_fabric_progress(fabric);
  }
}

struct smed_fabric *smed_fabric_look(const struct smed_window *window, const char *host,
                                     const char **why) {
  struct smed_fabric *fabric = opened(window->provider, host, false, why);

  if (fabric == NULL)
    return NULL;
  fabric->window = *window;
  *why = "libfabric cannot reach the window";
  if ((fabric->buffer = calloc(1, window->bytes)) == NULL ||
      ((fabric->info->domain_attr->mr_mode & FI_MR_LOCAL) != 0 &&
       !enter(fabric, fabric->buffer, window->bytes, FI_READ | FI_WRITE)) ||
      fi_av_insert(fabric->addresses, window->address, 1, &fabric->peer, 0, NULL) != 1) {
    smed_fabric_close(fabric);
    return NULL;
  }
  return fabric;
}

static void *own(const struct smed_fabric *fabric) {
  return fabric->memory != NULL ? fi_mr_desc(fabric->memory) : NULL;
}

bool smed_fabric_begin(struct smed_fabric *fabric) {
  if (fabric->begun)
    return true;
  ssize_t result = fi_read(fabric->endpoint, fabric->buffer, fabric->window.bytes, own(fabric),
                           fabric->peer, fabric->window.base, fabric->window.key, fabric);
  if (result == 0)
    fabric->begun = true;
  else if (result == -FI_EAGAIN)
    smed_fabric_progress(fabric); /* it is still connecting, or its queues are full */
  return result == 0 || result == -FI_EAGAIN;
}

int smed_fabric_done(struct smed_fabric *fabric) {
  struct fi_cq_entry entry;
  struct fi_cq_err_entry error = {0};

  if (!fabric->begun)
    return 0;
  ssize_t result = fi_cq_read(fabric->queue, &entry, 1);
  if (result == -FI_EAGAIN)
    return 0;
  fabric->begun = false;
  if (result == 1)
    return 1;
  if (result == -FI_EAVAIL)
    fi_cq_readerr(fabric->queue, &error, 0);
  return -1;
}

const void *smed_fabric_bytes(const struct smed_fabric *fabric) { return fabric->buffer; }

bool smed_fabric_can_write(struct smed_fabric *fabric) {
  struct timespec pause = {.tv_nsec = 1000000};
  ssize_t result = -FI_EAGAIN;

  for (int tries = 0; tries < 1000 && result == -FI_EAGAIN; tries++) {
    result = fi_write(fabric->endpoint, fabric->buffer, 8, own(fabric), fabric->peer,
                      fabric->window.base, fabric->window.key, fabric);
    smed_fabric_progress(fabric);
    nanosleep(&pause, NULL);
  }
  if (result != 0)
    return false;
  fabric->begun = true;
  for (int tries = 0; tries < 1000; tries++) {
    int done = smed_fabric_done(fabric);
    if (done != 0)
      return done > 0;
    nanosleep(&pause, NULL);
  }
  return false;
}

#define CLOSE(it)                                                                                  \
  if ((it) != NULL)                                                                                \
  fi_close(&(it)->fid)

void smed_fabric_close(struct smed_fabric *fabric) {
  CLOSE(fabric->endpoint);
  CLOSE(fabric->memory);
  CLOSE(fabric->queue);
  CLOSE(fabric->addresses);
  CLOSE(fabric->domain);
  CLOSE(fabric->fabric);
  if (fabric->info != NULL)
    libfabric.freeinfo(fabric->info);
  free(fabric->buffer);
  free(fabric);
}
