#include "far/connection.h"

#include <errno.h>
#include <fcntl.h>
#include <netdb.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "far/message.h"
#include "lock.h"

#define SILENT_S 2 /* before the other side is asked */
#define ASK_S 1
#define ASKS 3
#define LOST_MS 5000 /* what was sent and not acknowledged for so long ends the connection */

int ses_connection_split(char *node, const char **host, const char **port) {
  char *colon = strrchr(node, ':'), *end = strchr(node, ']');
  *host = node;
  if (node[0] == '[') {
    if (!end || (end[1] != '\0' && end[1] != ':'))
      return EINVAL;
    *end = '\0';
    *host = node + 1;
    colon = end[1] == ':' ? end + 1 : NULL;
  }
  if (colon) {
    *colon = '\0';
    *port = colon + 1;
  }
  return **host && **port ? 0 : EINVAL;
}

static int left_ms(uint64_t deadline_ns) {
  uint64_t now = ses_lock_now_ns();
  return now >= deadline_ns ? 0 : (int)((deadline_ns - now) / 1000000 % 1000000) + 1;
}

static int wait_for(int connection, short events, uint64_t deadline_ns) {
  struct pollfd one = {.fd = connection, .events = events};
  for (;;) {
    int count = poll(&one, 1, left_ms(deadline_ns));
    if (count > 0)
      return 0;
    if (count == 0)
      return ETIMEDOUT;
    if (errno != EINTR)
      return EHOSTDOWN;
  }
}

static int connect_to(const struct addrinfo *where, uint64_t deadline_ns, int *connection) {
  int fault = 0;
  socklen_t size = sizeof fault;
  int made = socket(where->ai_family, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
  if (made < 0)
    return errno;
  int status = 0;
  if (connect(made, where->ai_addr, where->ai_addrlen) != 0) {
    status = errno == EINPROGRESS ? wait_for(made, POLLOUT, deadline_ns) : EHOSTUNREACH;
    if (status == 0 && (getsockopt(made, SOL_SOCKET, SO_ERROR, &fault, &size) != 0 || fault != 0))
      status = EHOSTUNREACH;
  }
  if (status != 0) {
    close(made);
    return status;
  }
  ses_connection_watch(made);
  *connection = made;
  return 0;
}

int ses_connection_open(const char *node, uint64_t deadline_ns, int *connection) {
  char copy[NI_MAXHOST];
  const char *host, *port = SES_FAR_PORT;
  struct addrinfo hints = {.ai_socktype = SOCK_STREAM}, *found = NULL;
  if (strlen(node) >= sizeof copy)
    return EINVAL;
  strcpy(copy, node);
  if (ses_connection_split(copy, &host, &port) != 0)
    return EINVAL;
  if (getaddrinfo(host, port, &hints, &found) != 0)
    return EHOSTUNREACH;
  int status = EHOSTUNREACH;
  for (const struct addrinfo *one = found; one && status != 0 && status != ETIMEDOUT;
       one = one->ai_next)
    status = connect_to(one, deadline_ns, connection);
  freeaddrinfo(found);
  return status;
}

void ses_connection_watch(int connection) {
  const int on = 1, silent = SILENT_S, ask = ASK_S, asks = ASKS, lost = LOST_MS;
  setsockopt(connection, SOL_SOCKET, SO_KEEPALIVE, &on, sizeof on);
  setsockopt(connection, IPPROTO_TCP, TCP_KEEPIDLE, &silent, sizeof silent);
  setsockopt(connection, IPPROTO_TCP, TCP_KEEPINTVL, &ask, sizeof ask);
  setsockopt(connection, IPPROTO_TCP, TCP_KEEPCNT, &asks, sizeof asks);
  setsockopt(connection, IPPROTO_TCP, TCP_USER_TIMEOUT, &lost, sizeof lost);
  setsockopt(connection, IPPROTO_TCP, TCP_NODELAY, &on, sizeof on);
}

int ses_connection_send(int connection, const void *from, size_t bytes, uint64_t deadline_ns) {
  const char *at = from;
  while (bytes > 0) {
    ssize_t count = send(connection, at, bytes, MSG_NOSIGNAL | MSG_DONTWAIT);
    if (count > 0) {
      at += count;
      bytes -= (size_t)count;
      continue;
    }
    if (errno != EAGAIN && errno != EINTR)
      return EHOSTDOWN;
    int status = wait_for(connection, POLLOUT, deadline_ns);
    if (status != 0)
      return status;
  }
  return 0;
}

int ses_connection_receive(int connection, void *into, size_t bytes, uint64_t deadline_ns) {
  char *at = into;
  while (bytes > 0) {
    int status = wait_for(connection, POLLIN, deadline_ns);
    if (status != 0)
      return status;
    ssize_t count = recv(connection, at, bytes, MSG_DONTWAIT);
    if (count == 0 || (count < 0 && errno != EAGAIN && errno != EINTR))
      return EHOSTDOWN;
    if (count > 0) {
      at += count;
      bytes -= (size_t)count;
    }
  }
  return 0;
}

int ses_connection_address(int connection, int other, char host[SES_CONNECTION_ADDRESS],
                           char both[SES_CONNECTION_ADDRESS]) {
  struct sockaddr_storage address;
  socklen_t size = sizeof address;
  char port[NI_MAXSERV], name[NI_MAXHOST];
  int status = other ? getpeername(connection, (struct sockaddr *)&address, &size)
                     : getsockname(connection, (struct sockaddr *)&address, &size);
  if (status != 0 || getnameinfo((struct sockaddr *)&address, size, name, sizeof name, port,
                                 sizeof port, NI_NUMERICHOST | NI_NUMERICSERV) != 0)
    return EHOSTDOWN;
  if (host && snprintf(host, SES_CONNECTION_ADDRESS, "%s", name) >= (int)SES_CONNECTION_ADDRESS)
    return EINVAL;
  return both && snprintf(both, SES_CONNECTION_ADDRESS, "%s %s", name, port) >=
                     (int)SES_CONNECTION_ADDRESS
             ? EINVAL
             : 0;
}
