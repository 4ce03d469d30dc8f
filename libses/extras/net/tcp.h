/*
 * TCP sockets that never block: where they listen, whom they reach, and by when.
 *
 * Deadlines are of CLOCK_MONOTONIC, in nanoseconds.
 */
#ifndef SES_NET_TCP_H
#define SES_NET_TCP_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Where one side is: a name or a number each. */
struct ses_tcp_address {
  char host[256];
  char port[16];
};

/* Read "HOST", "HOST:PORT" or "[HOST]:PORT"; the port stays as it is where TEXT has none.  False:
 * TEXT is none of them. */
bool ses_tcp_read(const char *text, struct ses_tcp_address *address);

/* A socket that listens there (port 0: any that is free); ADDRESS becomes what it got, in numbers.
 * -1, and WHY says why in a few words. */
int ses_tcp_listen(struct ses_tcp_address *address, const char **why);

/* Put a connected socket into MADE.  0, EHOSTUNREACH or ETIMEDOUT. */
int ses_tcp_connect(const struct ses_tcp_address *address, uint64_t deadline_ns, int *made);

/* Until one of EVENTS of poll(2).  0, ETIMEDOUT or EHOSTDOWN. */
int ses_tcp_wait(int socket, short events, uint64_t deadline_ns);

/* Send at once what is sent, and end the connection when nothing of it is acknowledged for LOST_MS,
 * or when a side that is silent does not answer for 5 s. */
void ses_tcp_watch(int socket, int lost_ms);

/* All BYTES.  0, EHOSTDOWN or ETIMEDOUT. */
int ses_tcp_send(int socket, const void *from, size_t bytes, uint64_t deadline_ns);
int ses_tcp_receive(int socket, void *into, size_t bytes, uint64_t deadline_ns);

/* The address of this side or the other, in numbers; false: it has none any more. */
bool ses_tcp_of(int socket, bool other, struct ses_tcp_address *address);

#endif /* SES_NET_TCP_H */
