/*
 * The client of a region in another node's memory: one connection, one call at a time (message.h).
 *
 * Every call ends: by the other side's answer, when the connection ends, or ten seconds after the
 * time that it was to wait.  After a call that got no answer the region is lost, EHOSTDOWN from
 * then on: what became of the call cannot be known.  May be called by several threads.
 */
#ifndef SES_REMOTE_H
#define SES_REMOTE_H

#include <stdbool.h>
#include <stdint.h>

#include "remote/message.h"

struct ses_remote;

/* Does NAME ("[USER:]NAME@NODE") speak of another node? */
bool ses_remote_is_meant(const char *name);

/* Prove each other and do OPERATION (CREATE, OPEN, REMOVE) with the region. */
int ses_remote_open(const char *name, uint32_t operation, const ses_share_options *options,
                    struct ses_remote **remote);

/* A reference counted object: opening it and each ses_remote_keep() add one reference,
 * ses_remote_close() and each ses_remote_drop() take one away.  After the close calls give
 * EHOSTDOWN. */
void ses_remote_close(struct ses_remote *remote);
void ses_remote_keep(struct ses_remote *remote);
void ses_remote_drop(struct ses_remote *remote);

/* A question, and what came of it; the rest is zero. */
struct ses_remote_call {
  struct ses_remote_request asked; /* all but secret, number and time */
  const void *value;               /* of asked.bytes */
  void *buffer;                    /* of ROOM, for a value that comes */
  uint64_t room;
  struct ses_remote_reply came; /* valid after 0; put_ns is this node's time */
};

/* Waits of the other side end by PATIENCE_NS.  Gives the reply's status. */
int ses_remote_ask(struct ses_remote *remote, struct ses_remote_call *call, uint64_t patience_ns);

#endif /* SES_REMOTE_H */
