/*
 * The client's side of a domain: its connection and the calls on their way.
 */
#ifndef SES_OFFLOAD_DOMAIN_H
#define SES_OFFLOAD_DOMAIN_H

#include <pthread.h>

#include "message.h"
#include "start.h"

struct ses_offload_future {
  struct ses_offload_domain *domain;
  struct ses_offload_future *next; /* in the domain, as long as it has not ended */
  const struct offload_entry *entry;
  uint64_t id;
  bool ended, used;
  ses_offload_report report;
  msgpack_sbuffer request; /* kept while the call may be repeated here */
  char *reply;
  size_t reply_size;
};

struct ses_offload_domain {
  pthread_mutex_t lock;
  void *context, *socket; /* NULL: calls run in this process */
  void *events;           /* tells of the connection's end */
  int ready;              /* readable when something may have come */
  struct offload_part part;
  pid_t owner;
  int fallback;
  bool lost;
  uint64_t last_id;
  struct ses_offload_future *pending;
};

/* Sends a message.  With the lock held. */
void offload_send(ses_offload_domain *domain, const msgpack_sbuffer *message);
/* Takes in what has come, and ends all calls when the storage part has gone. */
void offload_take_in(ses_offload_domain *domain);
/* Copies what follows the report in a reply, or sets the status MEMORY. */
void offload_keep_results(struct ses_offload_future *future, const ses_offload_reader *from);
/* Waits until something may have come, MS at most. */
void offload_sleep(ses_offload_domain *domain, int ms);

#endif /* SES_OFFLOAD_DOMAIN_H */
