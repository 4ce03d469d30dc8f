#include "fabric.h"

#include "net/endpoint.h"

#include <rdma/fi_errno.h>
#include <rdma/fi_rma.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>
#include <time.h>

#define WAIT_MS 200
#define QUEUE(wait)                                                                                \
  { .size = 64, .format = FI_CQ_FORMAT_CONTEXT, .wait_obj = wait }
#define MEMORY_MODES                                                                               \
  (FI_MR_LOCAL | FI_MR_ALLOCATED | FI_MR_VIRT_ADDR | FI_MR_PROV_KEY | FI_MR_ENDPOINT)

static const struct ses_endpoint_kind shows = {.capabilities = FI_RMA | FI_REMOTE_READ,
                                               .memory_mode = MEMORY_MODES,
                                               .queue = QUEUE(FI_WAIT_FD),
                                               .at_host = true};
static const struct ses_endpoint_kind reads = {.capabilities = FI_RMA | FI_READ | FI_WRITE,
                                               .memory_mode = MEMORY_MODES,
                                               .queue = QUEUE(FI_WAIT_NONE)};

struct smed_fabric {
  struct ses_endpoint its;
  /* of a reader */
  struct smed_window window;
  fi_addr_t peer;
  void *buffer;
  bool begun;
};

/* Some providers take signals over when they are loaded, at the latest by the first question;
 * ofi_rxm sets 80 MB aside for the messages of each endpoint, of which there are none here. */
void smed_fabric_prepare(void) {
  static const int taken[] = {SIGINT, SIGTERM, SIGSEGV, SIGBUS};
  struct sigaction before[4];

  setenv("FI_OFI_RXM_BUFFER_SIZE", "512", 0);
  setenv("FI_OFI_RXM_TX_SIZE", "64", 0);
  setenv("FI_OFI_RXM_RX_SIZE", "64", 0);
  setenv("FI_OFI_RXM_MSG_TX_SIZE", "32", 0);
  setenv("FI_OFI_RXM_MSG_RX_SIZE", "32", 0);
  for (int i = 0; i < 4; i++)
    sigaction(taken[i], NULL, &before[i]);
  ses_endpoint_prepare(&reads, NULL);
  for (int i = 0; i < 4; i++)
    sigaction(taken[i], &before[i], NULL);
}

static bool enter(struct smed_fabric *fabric, void *memory, size_t bytes, uint64_t access) {
  uint64_t key = 0;
  int mode = fabric->its.info->domain_attr->mr_mode;

  if (getrandom(&key, sizeof(key), 0) != (ssize_t)sizeof(key))
    return false;
  if (fabric->its.info->domain_attr->mr_key_size < sizeof(key))
    key &= (1ull << (8 * fabric->its.info->domain_attr->mr_key_size)) - 1;
  if (fi_mr_reg(fabric->its.domain, memory, bytes, access, 0, key, 0, &fabric->its.memory, NULL) !=
      0)
    return false;
  return (mode & FI_MR_ENDPOINT) == 0 ||
         (fi_mr_bind(fabric->its.memory, &fabric->its.endpoint->fid, 0) == 0 &&
          fi_mr_enable(fabric->its.memory) == 0);
}

static struct smed_fabric *opened(const struct ses_endpoint_kind *kind, const char *provider,
                                  const char *host, const char **why) {
  struct smed_fabric *fabric = calloc(1, sizeof(*fabric));

  *why =
      fabric == NULL ? "there is no memory" : ses_endpoint_open(&fabric->its, kind, provider, host);
  if (*why == NULL)
    return fabric;
  if (fabric != NULL)
    smed_fabric_close(fabric);
  return NULL;
}

struct smed_fabric *smed_fabric_show(const char *provider, const char *host, void *memory,
                                     size_t bytes, struct smed_window *window, const char **why) {
  struct smed_fabric *fabric = opened(&shows, provider, host, why);
  size_t address_bytes = SMED_FABRIC_ADDRESS;

  if (fabric == NULL)
    return NULL;
  *why = "libfabric cannot show this memory";
  if (!enter(fabric, memory, bytes, FI_REMOTE_READ) ||
      fi_getname(&fabric->its.endpoint->fid, window->address, &address_bytes) != 0 ||
      strlen(fabric->its.info->fabric_attr->prov_name) >= sizeof(window->provider)) {
    smed_fabric_close(fabric);
    return NULL;
  }
  strcpy(window->provider, fabric->its.info->fabric_attr->prov_name);
  window->key = fi_mr_key(fabric->its.memory);
  window->base =
      (fabric->its.info->domain_attr->mr_mode & FI_MR_VIRT_ADDR) != 0 ? (uintptr_t)memory : 0;
  window->bytes = bytes;
  window->address_bytes = (uint32_t)address_bytes;
  return fabric;
}

void smed_fabric_progress(struct smed_fabric *fabric) {
  struct fi_cq_entry entry;
  struct fi_cq_err_entry error = {0};

  if (fi_cq_read(fabric->its.queue, &entry, 1) == -FI_EAVAIL)
    fi_cq_readerr(fabric->its.queue, &error, 0);
}

void smed_fabric_serve(struct smed_fabric *fabric, const volatile int *ending) {
  while (!*ending) {
    struct fi_cq_entry entry;

    if (fabric->its.wakes)
      fi_cq_sread(fabric->its.queue, &entry, 1, NULL, WAIT_MS);
    else
      nanosleep(&(struct timespec){.tv_nsec = 20000000}, NULL); /* its queue holds more */
    smed_fabric_progress(fabric);
  }
}

struct smed_fabric *smed_fabric_look(const struct smed_window *window, const char *host,
                                     const char **why) {
  struct smed_fabric *fabric = opened(&reads, window->provider, host, why);

  if (fabric == NULL)
    return NULL;
  fabric->window = *window;
  *why = "libfabric cannot reach the window";
  if ((fabric->buffer = calloc(1, window->bytes)) == NULL ||
      ((fabric->its.info->domain_attr->mr_mode & FI_MR_LOCAL) != 0 &&
       !enter(fabric, fabric->buffer, window->bytes, FI_READ | FI_WRITE)) ||
      fi_av_insert(fabric->its.addresses, window->address, 1, &fabric->peer, 0, NULL) != 1) {
    smed_fabric_close(fabric);
    return NULL;
  }
  return fabric;
}

static void *own(const struct smed_fabric *fabric) {
  return fabric->its.memory != NULL ? fi_mr_desc(fabric->its.memory) : NULL;
}

bool smed_fabric_begin(struct smed_fabric *fabric) {
  if (fabric->begun)
    return true;
  ssize_t result = fi_read(fabric->its.endpoint, fabric->buffer, fabric->window.bytes, own(fabric),
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
  ssize_t result = fi_cq_read(fabric->its.queue, &entry, 1);
  if (result == -FI_EAGAIN)
    return 0;
  fabric->begun = false;
  if (result == 1)
    return 1;
  if (result == -FI_EAVAIL)
    fi_cq_readerr(fabric->its.queue, &error, 0);
  return -1;
}

const void *smed_fabric_bytes(const struct smed_fabric *fabric) { return fabric->buffer; }

bool smed_fabric_can_write(struct smed_fabric *fabric) {
  struct timespec pause = {.tv_nsec = 1000000};
  ssize_t result = -FI_EAGAIN;

  for (int tries = 0; tries < 1000 && result == -FI_EAGAIN; tries++) {
    result = fi_write(fabric->its.endpoint, fabric->buffer, 8, own(fabric), fabric->peer,
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

void smed_fabric_close(struct smed_fabric *fabric) {
  ses_endpoint_close(&fabric->its);
  free(fabric->buffer);
  free(fabric);
}
