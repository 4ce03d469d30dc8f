#include "net/tcp.h"

#include <errno.h>
#include <netdb.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "system/clock.h"

#define WAITING 64 /* connections that nobody has taken yet */
#define SILENT_S 2 /* before the other side is asked whether it is there */
#define ASK_S 1
#define ASKS 3

bool ses_tcp_read(const char *text, struct ses_tcp_address *address) {
  const char *end = strrchr(text, ':'), *host = text;
  if (text[0] == '[') {
    host++;
    end = strchr(text, ']');
    if (!end || (end[1] != '\0' && end[1] != ':'))
      return false;
  }
  size_t length = end ? (size_t)(end - host) : strlen(host);
  const char *port = end && *end == ']' ? end + 1 : end; /* at its colon */
  if (length == 0 || length >= sizeof address->host)
    return false;
  if (port && *port) {
    size_t digits = strspn(port + 1, "0123456789");
    if (digits == 0 || digits >= sizeof address->port || port[1 + digits])
      return false;
    strcpy(address->port, port + 1);
  }
  memcpy(address->host, host, length);
  address->host[length] = '\0';
  return true;
}

static int resolve(const struct ses_tcp_address *address, int flags, struct addrinfo **addresses) {
  struct addrinfo hints = {.ai_socktype = SOCK_STREAM, .ai_flags = flags | AI_NUMERICSERV};
  *addresses = NULL;
  return getaddrinfo(address->host, address->port, &hints, addresses);
}

static int socket_for(const struct addrinfo *info) {
  return socket(info->ai_family, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
}

int ses_tcp_listen(struct ses_tcp_address *address, const char **why) {
  struct addrinfo *addresses;
  const int on = 1;
  int listener = -1, unknown = resolve(address, AI_PASSIVE, &addresses);
  *why = unknown ? gai_strerror(unknown) : "";
  for (const struct addrinfo *info = addresses; info && listener < 0; info = info->ai_next) {
    listener = socket_for(info);
    if (listener >= 0 && setsockopt(listener, SOL_SOCKET, SO_REUSEADDR, &on, sizeof on) == 0 &&
        bind(listener, info->ai_addr, info->ai_addrlen) == 0 && listen(listener, WAITING) == 0 &&
        ses_tcp_of(listener, false, address))
      break;
    *why = strerror(errno);
    if (listener >= 0)
      close(listener);
    listener = -1;
  }
  if (addresses)
    freeaddrinfo(addresses);
  return listener;
}

static int reach(const struct addrinfo *where, uint64_t deadline_ns, int *made) {
  int fault = 0, status = 0;
  socklen_t size = sizeof fault;
  *made = socket_for(where);
  if (*made < 0)
    return EHOSTUNREACH;
  if (connect(*made, where->ai_addr, where->ai_addrlen) != 0)
    status = errno == EINPROGRESS ? ses_tcp_wait(*made, POLLOUT, deadline_ns) : EHOSTUNREACH;
  if (status == 0 && getsockopt(*made, SOL_SOCKET, SO_ERROR, &fault, &size) == 0 && fault == 0)
    return 0;
  close(*made);
  return status == ETIMEDOUT ? status : EHOSTUNREACH;
}

int ses_tcp_connect(const struct ses_tcp_address *address, uint64_t deadline_ns, int *made) {
  struct addrinfo *addresses;
  int status = EHOSTUNREACH;
  if (resolve(address, 0, &addresses) != 0)
    return status;
  for (const struct addrinfo *info = addresses; info && status == EHOSTUNREACH;
       info = info->ai_next)
    status = reach(info, deadline_ns, made);
  freeaddrinfo(addresses);
  return status;
}

int ses_tcp_wait(int socket, short events, uint64_t deadline_ns) {
  struct pollfd polled = {.fd = socket, .events = events};
  for (;;) {
    uint64_t now = ses_now_ns();
    uint64_t left_ms = now >= deadline_ns ? 0 : (deadline_ns - now) / 1000000 + 1;
    int count = poll(&polled, 1, left_ms < 1000000 ? (int)left_ms : 1000000);
    if (count > 0)
      return 0;
    if (count == 0 && ses_now_ns() >= deadline_ns)
      return ETIMEDOUT;
    if (count < 0 && errno != EINTR)
      return EHOSTDOWN;
  }
}

void ses_tcp_watch(int socket, int lost_ms) {
  const int on = 1, silent = SILENT_S, ask = ASK_S, asks = ASKS;
  setsockopt(socket, SOL_SOCKET, SO_KEEPALIVE, &on, sizeof on);
  setsockopt(socket, IPPROTO_TCP, TCP_KEEPIDLE, &silent, sizeof silent);
  setsockopt(socket, IPPROTO_TCP, TCP_KEEPINTVL, &ask, sizeof ask);
  setsockopt(socket, IPPROTO_TCP, TCP_KEEPCNT, &asks, sizeof asks);
  setsockopt(socket, IPPROTO_TCP, TCP_NODELAY, &on, sizeof on);
  setsockopt(socket, IPPROTO_TCP, TCP_USER_TIMEOUT, &lost_ms, sizeof lost_ms);
}

int ses_tcp_send(int socket, const void *from, size_t bytes, uint64_t deadline_ns) {
  const char *at = from;
  while (bytes > 0) {
    ssize_t count = send(socket, at, bytes, MSG_NOSIGNAL | MSG_DONTWAIT);
    if (count > 0) {
      at += count;
      bytes -= (size_t)count;
      continue;
    }
    if (errno != EAGAIN && errno != EINTR)
      return EHOSTDOWN;
    int status = ses_tcp_wait(socket, POLLOUT, deadline_ns);
    if (status != 0)
      return status;
  }
  return 0;
}

int ses_tcp_receive(int socket, void *into, size_t bytes, uint64_t deadline_ns) {
  char *at = into;
  while (bytes > 0) {
    int status = ses_tcp_wait(socket, POLLIN, deadline_ns);
    if (status != 0)
      return status;
    ssize_t count = recv(socket, at, bytes, MSG_DONTWAIT);
    if (count == 0 || (count < 0 && errno != EAGAIN && errno != EINTR))
      return EHOSTDOWN;
    if (count > 0) {
      at += count;
      bytes -= (size_t)count;
    }
  }
  return 0;
}

bool ses_tcp_of(int socket, bool other, struct ses_tcp_address *address) {
  struct sockaddr_storage seen;
  socklen_t size = sizeof seen;
  int status = other ? getpeername(socket, (struct sockaddr *)&seen, &size)
                     : getsockname(socket, (struct sockaddr *)&seen, &size);
  return status == 0 &&
         getnameinfo((struct sockaddr *)&seen, size, address->host, sizeof address->host,
                     address->port, sizeof address->port, NI_NUMERICHOST | NI_NUMERICSERV) == 0;
}
