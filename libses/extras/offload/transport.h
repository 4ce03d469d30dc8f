/*
 * The connection between a program and its storage part: one ZeroMQ socket on each side, encrypted
 * and authenticated by CurveZMQ with keys that live as long as the domain.
 */
#ifndef SES_OFFLOAD_TRANSPORT_H
#define SES_OFFLOAD_TRANSPORT_H

#include <stdbool.h>
#include <stddef.h>

#define OFFLOAD_KEY_TEXT 41 /* bytes of a key as text, with the NUL */
#define OFFLOAD_ENDPOINT_MAX 128

struct offload_keys {
  char open[OFFLOAD_KEY_TEXT], secret[OFFLOAD_KEY_TEXT];
};

/* Fresh keys; false: libzmq has no CURVE. */
bool offload_make_keys(struct offload_keys *keys);

/* A socket that is connected to ENDPOINT, whose key is SERVER, and EVENTS, which tells of its end;
 * NULL, errno.  A connection that ends is not made again: what was on its way would be lost. */
void *offload_connect(void *context, const char *endpoint, const char *server,
                      const struct offload_keys *own, void **events);
/* Has the connection ended?  Never waits. */
bool offload_is_cut(void *events);
/* Closes both; NULL is allowed. */
void offload_disconnect(void *socket, void *events);

/* A socket that listens on ADDRESS for the client of this key alone.  ENDPOINT becomes where.
 * NULL, errno.  The context then has a thread that refuses all others. */
void *offload_listen(void *context, const char *address, const char *client,
                     const struct offload_keys *own, char endpoint[OFFLOAD_ENDPOINT_MAX]);

#endif /* SES_OFFLOAD_TRANSPORT_H */
