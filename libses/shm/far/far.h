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
struct ses_far *ses_far_keep(struct ses_far *far);
void ses_far_drop(struct ses_far *far);

/* Ask REQUEST, which has all but secret and number, with the VALUE of request->bytes.  Waits of the
 * other side end by PATIENCE_NS.  A value that comes goes into BUFFER of ROOM.  Gives the reply's
 * status; the members of REPLY are valid then.  Its put_ns is this node's time. */
int ses_far_ask(struct ses_far *far, struct ses_far_request *request, const void *value,
                struct ses_far_reply *reply, void *buffer, uint64_t room, uint64_t patience_ns);

/* The same for operations on an item, without a value. */
int ses_far_do(struct ses_far *far, uint32_t operation, uint32_t item, uint64_t version,
               struct ses_far_reply *reply, uint64_t patience_ns);

/* ALLOC or FIND: the NUMBER by which the item is known from then on, and what it is. */
int ses_far_item(struct ses_far *far, uint32_t operation, const char *name,
                 const ses_share_kind *kind, uint32_t *number, ses_share_item_facts *facts,
                 uint64_t patience_ns);

/* LOOK or ITEM_AT. */
int ses_far_look(struct ses_far *far, uint32_t operation, uint32_t number,
                 ses_share_item_facts *facts, uint64_t patience_ns);

int ses_far_facts(struct ses_far *far, ses_share_facts *facts, uint64_t patience_ns);

#endif /* SES_FAR_H */
