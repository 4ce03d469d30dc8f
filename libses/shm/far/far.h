/*
 * A region of another node, as the process that uses it has it (message.h).
 *
 * Every call ends: by the other side's answer, when the connection ends, or ten seconds after the
 * time that it was to wait.  After a call that got no answer the region is lost, EHOSTDOWN from
 * then on: what became of the call cannot be known.  May be called by several threads.
 */
#ifndef SES_FAR_H
#define SES_FAR_H

#include <stdbool.h>
#include <stdint.h>

#include "far/message.h"

struct ses_far;

/* Does NAME ("[USER:]NAME@NODE") speak of another node? */
bool ses_far_is_meant(const char *name);

/* Prove each other and do OPERATION (CREATE, OPEN, REMOVE) with the region. */
int ses_far_open(const char *name, uint32_t operation, const ses_share_options *options,
                 struct ses_far **far);

/* Nothing is asked any more.  Who keeps it may still try, and drops it some time. */
void ses_far_close(struct ses_far *far);
void ses_far_keep(struct ses_far *far);
void ses_far_drop(struct ses_far *far);

/* A question, and what came of it; the rest is zero. */
struct ses_far_call {
  struct ses_far_request asked; /* all but secret, number and time */
  const void *value;            /* of asked.bytes */
  void *buffer;                 /* of ROOM, for a value that comes */
  uint64_t room;
  struct ses_far_reply came; /* valid after 0; put_ns is this node's time */
};

/* Waits of the other side end by PATIENCE_NS.  Gives the reply's status. */
int ses_far_ask(struct ses_far *far, struct ses_far_call *call, uint64_t patience_ns);

#endif /* SES_FAR_H */
