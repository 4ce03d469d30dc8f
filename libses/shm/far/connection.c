#include "far/connection.h"

#include <errno.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <sys/socket.h>

#include "far/message.h"

#define SILENT_S 2 /* before the other side is asked */
#define ASK_S 1
#define ASKS 3
#define LOST_MS 5000 /* what was sent and not acknowledged for so long ends the connection */

int ses_connection_open(const char *node, uint64_t deadline_ns, int *connection) {
  struct ses_tcp_address address = {.port = SES_FAR_PORT};
  if (!ses_tcp_read(node, &address))
    return EINVAL;
  int status = ses_tcp_connect(&address, deadline_ns, connection);
  if (status == 0)
    ses_connection_watch(*connection);
  return status;
}

void ses_connection_watch(int connection) {
  const int on = 1, silent = SILENT_S, ask = ASK_S, asks = ASKS;
  setsockopt(connection, SOL_SOCKET, SO_KEEPALIVE, &on, sizeof on);
  setsockopt(connection, IPPROTO_TCP, TCP_KEEPIDLE, &silent, sizeof silent);
  setsockopt(connection, IPPROTO_TCP, TCP_KEEPINTVL, &ask, sizeof ask);
  setsockopt(connection, IPPROTO_TCP, TCP_KEEPCNT, &asks, sizeof asks);
  ses_tcp_watch(connection, LOST_MS);
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
    int status = ses_tcp_wait(connection, POLLOUT, deadline_ns);
    if (status != 0)
      return status;
  }
  return 0;
}

int ses_connection_receive(int connection, void *into, size_t bytes, uint64_t deadline_ns) {
  char *at = into;
  while (bytes > 0) {
    int status = ses_tcp_wait(connection, POLLIN, deadline_ns);
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
