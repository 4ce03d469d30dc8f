/*
 * Messages between two endpoints of libfabric, which is loaded when the first is opened.
 *
 * The two sides take turns: one sends, the other receives and answers.  They learn each other's
 * address over a connection of their own, whose end says that the other side is gone: every wait
 * ends then, or at its deadline, or when the provider reports a fault.
 *
 * An endpoint is used by one thread at a time.  What it carries is neither encrypted nor proven:
 * anybody can send to it.  message.h has the secret by which the sides know each other; a message
 * that is too long comes as one of no bytes.
 */
#ifndef SES_REMOTE_FABRIC_H
#define SES_REMOTE_FABRIC_H

#include <stddef.h>
#include <stdint.h>

#define SES_FABRIC_PROVIDER 32u

struct ses_fabric;

struct ses_fabric_address {
  char provider[SES_FABRIC_PROVIDER];
  uint32_t bytes;
  uint8_t at[124];
};

/* Open an endpoint of PROVIDER at this node's address HOST, for messages of up to ROOM bytes, and
 * say its own address.  CONNECTION is the socket to the other side.  0, ENOTSUP: there is no
 * libfabric, or no such provider at this address; or ENOMEM. */
int ses_fabric_open(const char *provider, const char *host, size_t room, int connection,
                    struct ses_fabric **fabric, struct ses_fabric_address *own);

/* Load libfabric and let it look around, which takes it some tenths of a second, so that children
 * of this process need not.  Providers with a device of their own do that in each process anew. */
void ses_fabric_prepare(const char *provider);

/* Poll for so long before each sleep, on a core that other endpoints poll on as well. */
void ses_fabric_poll(struct ses_fabric *fabric, uint64_t ns);

/* Who sends and is sent to. */
int ses_fabric_meet(struct ses_fabric *fabric, const struct ses_fabric_address *peer);

/* From now on for messages of up to ROOM bytes. */
int ses_fabric_grow(struct ses_fabric *fabric, size_t room);
size_t ses_fabric_room(const struct ses_fabric *fabric);

/* Where the next message is made, and where the last one that came lies. */
void *ses_fabric_outgoing(struct ses_fabric *fabric);
const void *ses_fabric_incoming(struct ses_fabric *fabric);

/* Until DEADLINE_NS (CLOCK_MONOTONIC).  0, ETIMEDOUT, or EHOSTDOWN: the other side is gone. */
int ses_fabric_send(struct ses_fabric *fabric, size_t bytes, uint64_t deadline_ns);
int ses_fabric_receive(struct ses_fabric *fabric, size_t *bytes, uint64_t deadline_ns);

void ses_fabric_close(struct ses_fabric *fabric);

#endif /* SES_REMOTE_FABRIC_H */
