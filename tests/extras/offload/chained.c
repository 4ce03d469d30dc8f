/* Domains that open domains, and a domain on one of several nodes. */
#define _GNU_SOURCE
#include <ses/offload.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <ses/orca.h>

/* The processes that were called one from the other, parted by blanks. */
static int hop(const void *in, void *out) {
  int further = *(const int *)in - 1;
  char *rest = NULL;
  int status = SES_OFFLOAD_OK;
  if (further > 0) {
    ses_offload_domain *next;
    status = ses_offload_open("here", NULL, &next);
    if (status == SES_OFFLOAD_OK) {
      status = ses_offload_call(next, "hop", &further, &rest, NULL);
      ses_offload_close(next);
    }
    if (status != SES_OFFLOAD_OK) {
      ses_offload_explain(ses_offload_reason());
      return status;
    }
  }
  if (asprintf((char **)out, "%d %s", (int)getpid(), rest ? rest : "") < 0)
    return SES_OFFLOAD_MEMORY;
  free(rest);
  return 0;
}

static int node(const void *in, void *out) {
  (void)in;
  const char *name = getenv("NODE");
  *(char **)out = strdup(name ? name : "");
  return *(char **)out ? 0 : SES_OFFLOAD_MEMORY;
}

/* The same by the interface of ORCA. */
static void orca_hop(offloading_para *ins, offloading_para *outs) {
  int further = *(int *)ins->object - 1, below = 0;
  offloading_para more = {"int", &further}, result = {"int", &below};
  if (further > 0 && offload_call("here", "orca_hop", &more, &result) != SES_OFFLOAD_OK)
    below = -1000;
  *(int *)outs->object = below + 1;
}

/* ADDRESSES HOPS [RSH]; 0 hops: only the node is asked for. */
int main(int argc, char **argv) {
  init();
  register_function(orca_hop);
  SES_OFFLOAD_FUNCTION(hop, &ses_type_int, &ses_type_string);
  SES_OFFLOAD_FUNCTION(node, NULL, &ses_type_string);
  if (getenv("CHAINED_EARLY")) {
    ses_offload_domain *early;
    fprintf(stderr, "early=%d\n", ses_offload_open("here", NULL, &early));
  }
  ses_offload_serve();
  ses_offload_options options = {.rsh = argc > 3 ? argv[3] : NULL, .address = "127.0.0.1"};
  ses_offload_domain *domain;
  char *said = NULL;
  int hops = atoi(argv[2]), counted = 0;
  printf("open=%d\n", ses_offload_open(argv[1], &options, &domain));
  printf("reason=%s\n", ses_offload_reason());
  if (!domain)
    return 0;
  if (hops == 0)
    printf("call=%d\n", ses_offload_call(domain, "node", NULL, &said, NULL));
  else
    printf("call=%d\n", ses_offload_call(domain, "hop", &hops, &said, NULL));
  printf("said=%s\n", said ? said : "");
  free(said);
  ses_offload_close(domain);
  offloading_para in = {"int", &hops}, out = {"int", &counted};
  if (hops > 0 && offload_call("here", "orca_hop", &in, &out) == SES_OFFLOAD_OK)
    printf("orca=%d\n", counted);
  return 0;
}
