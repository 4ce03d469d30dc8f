/*
 * A connection between smed-sampler and smed-mirror: TLS 1.3 over TCP with a key that both sites'
 * files hold (a pre-shared key with ephemeral Diffie-Hellman, RFC 8446 section 2.2).  Whoever lacks
 * the key gets no further than the handshake, in either direction.
 *
 * Each call ends by its deadline (CLOCK_MONOTONIC, ns).  A channel belongs to one thread.
 */
#ifndef SMED_CHANNEL_H
#define SMED_CHANNEL_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "net/tcp.h"

struct smed_channel;

/* Read the key from FILE: 16 to 256 bytes, a line break at the end left out.  False, with why on
 * standard error: it is no regular file, others may read it, or its length is wrong. */
bool smed_channel_key(const char *program, const char *file);

/* Read "HOST:PORT" or "[HOST]:PORT"; false, with why on standard error, when it is neither. */
bool smed_channel_address(const char *program, const char *text, struct ses_tcp_address *address);

/* A listening socket at TEXT, and where it listens on standard error (port 0: any that is free);
 * -1 with why there. */
int smed_channel_listen(const char *program, const char *text);

/* The other side of SOCKET, which is closed with the channel, or at once when this fails (NULL). */
struct smed_channel *smed_channel_accept(int socket, uint64_t deadline_ns);

/* Connect to ADDRESS.  NULL, and WHY says why in a few words. */
struct smed_channel *smed_channel_open(const struct ses_tcp_address *address, uint64_t deadline_ns,
                                       const char **why);

/* All COUNT bytes; false: the connection is gone, or the deadline passed in the middle. */
bool smed_channel_send(struct smed_channel *channel, const void *bytes, size_t count,
                       uint64_t deadline_ns);
bool smed_channel_receive(struct smed_channel *channel, void *bytes, size_t count,
                          uint64_t deadline_ns);

/* Whether the other side closed or broke the connection, or sends what nobody asked for. */
bool smed_channel_gone(struct smed_channel *channel);

void smed_channel_close(struct smed_channel *channel);

#endif
