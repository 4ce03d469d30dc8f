#include "net/endpoint.h"

#include <dirent.h>
#include <dlfcn.h>
#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#define API FI_VERSION(1, 17)
#define LIBRARY "libfabric.so.1"

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

static bool is_of_one_node(const char *provider) {
  return provider && strncmp(provider, "shm", 3) == 0;
}

static struct fi_info *find(const struct ses_endpoint_kind *kind, const char *provider,
                            const char *host) {
  struct fi_info *hints = libfabric.dupinfo(NULL), *info = NULL;
  if (!hints)
    return NULL;
  hints->caps = kind->capabilities;
  hints->mode = kind->mode;
  hints->ep_attr->type = FI_EP_RDM;
  hints->domain_attr->mr_mode = kind->memory_mode;
  hints->domain_attr->resource_mgmt = FI_RM_ENABLED;
  hints->tx_attr->op_flags = kind->completion;
  if (is_of_one_node(provider))
    host = NULL; /* its addresses are none of the network */
  hints->fabric_attr->prov_name = (char *)(uintptr_t)provider;
  if (libfabric.getinfo(API, host, NULL, host && kind->at_host ? FI_SOURCE : 0, hints, &info) != 0)
    info = NULL;
  hints->fabric_attr->prov_name = NULL; /* the caller's */
  libfabric.freeinfo(hints);
  return info;
}

void ses_endpoint_prepare(const struct ses_endpoint_kind *kind, const char *provider) {
  struct fi_info *info = is_loaded() ? find(kind, provider, NULL) : NULL;
  if (info)
    libfabric.freeinfo(info);
}

/* The provider shm names the files of its endpoints PID:UID:NUMBER, and leaves them when a process
 * is killed: they take memory, and are in the way of a later one of the same PID.  Such a file is
 * one that nobody has open or mapped for writing: the kernel gives a lease on no other. */
static void remove_left_behind(void) {
  DIR *folder = opendir("/dev/shm");
  for (struct dirent *left; folder && (left = readdir(folder));) {
    long process, user;
    int number, length = 0;
    if (sscanf(left->d_name, "%ld:%ld:%d%n", &process, &user, &number, &length) != 3 ||
        left->d_name[length] || user != (long)getuid())
      continue;
    int file = openat(dirfd(folder), left->d_name, O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK);
    /* Who opens it meanwhile ends the lease, of which a signal tells: one that does nothing. */
    if (file >= 0 && fcntl(file, F_SETSIG, SIGURG) == 0 && fcntl(file, F_SETLEASE, F_RDLCK) == 0)
      unlinkat(dirfd(folder), left->d_name, 0);
    if (file >= 0)
      close(file);
  }
  if (folder)
    closedir(folder);
}

static bool open_queue(struct ses_endpoint *made, struct fi_cq_attr wanted) {
  made->wakes =
      wanted.wait_obj != FI_WAIT_NONE && fi_cq_open(made->domain, &wanted, &made->queue, NULL) == 0;
  wanted.wait_obj = FI_WAIT_NONE;
  return made->wakes || fi_cq_open(made->domain, &wanted, &made->queue, NULL) == 0;
}

const char *ses_endpoint_open(struct ses_endpoint *made, const struct ses_endpoint_kind *kind,
                              const char *provider, const char *host) {
  struct fi_av_attr wanted = {.type = FI_AV_UNSPEC};
  memset(made, 0, sizeof *made);
  if (!is_loaded())
    return "there is no " LIBRARY;
  made->info = find(kind, provider, host);
  if (!made->info)
    return "libfabric has no such provider at this address";
  if (is_of_one_node(provider))
    remove_left_behind();
  return libfabric.fabric(made->info->fabric_attr, &made->fabric, NULL) == 0 &&
                 fi_domain(made->fabric, made->info, &made->domain, NULL) == 0 &&
                 fi_av_open(made->domain, &wanted, &made->addresses, NULL) == 0 &&
                 open_queue(made, kind->queue) &&
                 fi_endpoint(made->domain, made->info, &made->endpoint, NULL) == 0 &&
                 fi_ep_bind(made->endpoint, &made->addresses->fid, 0) == 0 &&
                 fi_ep_bind(made->endpoint, &made->queue->fid, FI_TRANSMIT | FI_RECV) == 0 &&
                 fi_enable(made->endpoint) == 0
             ? NULL
             : "libfabric cannot open an endpoint of this provider";
}

#define CLOSE(it)                                                                                  \
  if (it)                                                                                          \
  fi_close(&(it)->fid)

void ses_endpoint_close(struct ses_endpoint *endpoint) {
  CLOSE(endpoint->endpoint);
  CLOSE(endpoint->memory);
  CLOSE(endpoint->queue);
  CLOSE(endpoint->addresses);
  CLOSE(endpoint->domain);
  CLOSE(endpoint->fabric);
  if (endpoint->info)
    libfabric.freeinfo(endpoint->info);
}
