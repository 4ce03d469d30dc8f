/*
 * An endpoint of libfabric, which is loaded when it is asked for.
 *
 * It is used by one thread at a time.  What it carries is neither encrypted nor proven.
 */
#ifndef SES_NET_ENDPOINT_H
#define SES_NET_ENDPOINT_H

#include <rdma/fabric.h>
#include <rdma/fi_cm.h>
#include <rdma/fi_domain.h>
#include <rdma/fi_endpoint.h>
#include <stdbool.h>

struct ses_endpoint {
  struct fi_info *info;
  struct fid_fabric *fabric;
  struct fid_domain *domain;
  struct fid_av *addresses;
  struct fid_cq *queue;
  struct fid_ep *endpoint;
  struct fid_mr *memory; /* the user's; closed with it */
  bool wakes;            /* the queue can be waited for */
};

/* What is wanted of one. */
struct ses_endpoint_kind {
  uint64_t capabilities;
  uint64_t mode;
  int memory_mode;
  uint64_t completion; /* flags of what is sent */
  struct fi_cq_attr queue;
  bool at_host; /* HOST is this node's; else the other's */
};

/* Let libfabric look around for what PROVIDER (NULL: any) has, which takes it some tenths of a
 * second, so that children of this process need not. */
void ses_endpoint_prepare(const struct ses_endpoint_kind *kind, const char *provider);

/* Open one of PROVIDER; HOST is an address.  NULL, or why it is not to be had, in a few words.  It
 * is to be closed in any case. */
const char *ses_endpoint_open(struct ses_endpoint *endpoint, const struct ses_endpoint_kind *kind,
                              const char *provider, const char *host);

void ses_endpoint_close(struct ses_endpoint *endpoint);

#endif /* SES_NET_ENDPOINT_H */
