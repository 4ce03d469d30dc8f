/*
 * The connection over which two nodes prove who they are, and by whose end each sees that the other
 * is gone: a process that ends closes it, and the kernel asks for a node that is silent.
 */
#ifndef SES_FAR_CONNECTION_H
#define SES_FAR_CONNECTION_H

#include <stddef.h>
#include <stdint.h>

#include "net/tcp.h"

/* Connect to NODE ("HOST", "HOST:PORT" or "[HOST]:PORT").  0, EHOSTUNREACH, EINVAL or ETIMEDOUT. */
int ses_connection_open(const char *node, uint64_t deadline_ns, int *connection);

/* Ask for the other side when it is silent, and end the connection within seconds. */
void ses_connection_watch(int connection);

/* All BYTES.  0, EHOSTDOWN or ETIMEDOUT. */
int ses_connection_send(int connection, const void *from, size_t bytes, uint64_t deadline_ns);
int ses_connection_receive(int connection, void *into, size_t bytes, uint64_t deadline_ns);

#endif /* SES_FAR_CONNECTION_H */
