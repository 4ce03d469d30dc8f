#include "transport.h"

#include <errno.h>
#include <pthread.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <zmq.h>

#include "ses/offload.h"

#define HEARTBEAT_MS 10000
#define LOST_MS 60000
#define CONNECT_MS 10000
#define KEY_BYTES 32

bool offload_make_keys(struct offload_keys *keys) {
  return zmq_curve_keypair(keys->open, keys->secret) == 0;
}

static void *socket_with(void *context, int kind, const struct offload_keys *own) {
  void *made = zmq_socket(context, kind);
  if (!made)
    return NULL;
  const int64_t most =
      SES_OFFLOAD_MESSAGE_MAX + (1 << 20); /* what is around arguments and results */
  const int none = 0, beat = HEARTBEAT_MS, lost = LOST_MS;
  zmq_setsockopt(made, ZMQ_MAXMSGSIZE, &most, sizeof most);
  zmq_setsockopt(made, ZMQ_LINGER, &none, sizeof none);
  zmq_setsockopt(made, ZMQ_SNDHWM, &none, sizeof none);
  zmq_setsockopt(made, ZMQ_RCVHWM, &none, sizeof none);
  zmq_setsockopt(made, ZMQ_HEARTBEAT_IVL, &beat, sizeof beat);
  zmq_setsockopt(made, ZMQ_HEARTBEAT_TIMEOUT, &lost, sizeof lost);
  if (zmq_setsockopt(made, ZMQ_CURVE_PUBLICKEY, own->open, OFFLOAD_KEY_TEXT) != 0 ||
      zmq_setsockopt(made, ZMQ_CURVE_SECRETKEY, own->secret, OFFLOAD_KEY_TEXT) != 0) {
    zmq_close(made);
    return NULL;
  }
  return made;
}

/* ---- the client's end ---- */

#define MONITOR "inproc://monitor"
#define MONITORED                                                                                  \
  (ZMQ_EVENT_HANDSHAKE_SUCCEEDED | ZMQ_EVENT_HANDSHAKE_FAILED_NO_DETAIL |                          \
   ZMQ_EVENT_HANDSHAKE_FAILED_PROTOCOL | ZMQ_EVENT_HANDSHAKE_FAILED_AUTH | ZMQ_EVENT_CLOSED |      \
   ZMQ_EVENT_DISCONNECTED)

/* The next event of the connection; 0: none came within MS. */
static int next_event(void *events, int ms) {
  zmq_pollitem_t polled = {events, 0, ZMQ_POLLIN, 0};
  char event[6], address[OFFLOAD_ENDPOINT_MAX]; /* 2 bytes for the kind, 4 for its value */
  uint16_t kind = 0;
  int ready;
  while ((ready = zmq_poll(&polled, 1, ms)) < 0 && errno == EINTR)
    ;
  if (ready < 1 || zmq_recv(events, event, sizeof event, ZMQ_DONTWAIT) != sizeof event)
    return 0;
  memcpy(&kind, event, sizeof kind);
  zmq_recv(events, address, sizeof address, ZMQ_DONTWAIT);
  return kind;
}

bool offload_is_cut(void *events) { return next_event(events, 0) != 0; }

static bool connect_to(void *socket, void *events, const char *endpoint, const char *server) {
  const int six = strchr(endpoint, '[') != NULL, never = -1, most = CONNECT_MS;
  if (zmq_setsockopt(socket, ZMQ_IPV6, &six, sizeof six) != 0 ||
      zmq_setsockopt(socket, ZMQ_RECONNECT_IVL, &never, sizeof never) != 0 ||
      zmq_setsockopt(socket, ZMQ_CONNECT_TIMEOUT, &most, sizeof most) != 0 ||
      zmq_setsockopt(socket, ZMQ_CURVE_SERVERKEY, server, OFFLOAD_KEY_TEXT) != 0 ||
      TEMP_FAILURE_RETRY(zmq_socket_monitor(socket, MONITOR, MONITORED)) != 0 ||
      TEMP_FAILURE_RETRY(zmq_connect(events, MONITOR)) != 0 ||
      TEMP_FAILURE_RETRY(zmq_connect(socket, endpoint)) != 0)
    return false;
  int first = next_event(events, 2 * CONNECT_MS); /* to connect, then to shake hands */
  errno = first == 0 ? ETIMEDOUT : ECONNREFUSED;
  return first == ZMQ_EVENT_HANDSHAKE_SUCCEEDED;
}

void *offload_connect(void *context, const char *endpoint, const char *server,
                      const struct offload_keys *own, void **events) {
  void *made = socket_with(context, ZMQ_DEALER, own);
  *events = made ? zmq_socket(context, ZMQ_PAIR) : NULL;
  if (*events && connect_to(made, *events, endpoint, server))
    return made;
  int error = errno;
  offload_disconnect(made, *events);
  *events = NULL;
  errno = error;
  return NULL;
}

void offload_disconnect(void *socket, void *events) {
  const int none = 0;
  if (socket) {
    zmq_socket_monitor(socket, NULL, 0);
    zmq_close(socket);
  }
  if (events) {
    zmq_setsockopt(events, ZMQ_LINGER, &none, sizeof none);
    zmq_close(events);
  }
}

/* ---- who may connect: ZeroMQ asks this thread (RFC 27, ZAP) ---- */

struct guard {
  void *socket;
  uint8_t client[KEY_BYTES];
};

#define ZAP_FRAMES 7 /* version, request, domain, address, identity, mechanism, key */

static void *guard_thread(void *argument) {
  struct guard *guard = argument;
  for (;;) {
    char parts[ZAP_FRAMES][256];
    int sizes[ZAP_FRAMES] = {0}, count = 0, more = 1;
    size_t length = sizeof more;
    while (more) {
      char dropped[256];
      char *room = count < ZAP_FRAMES ? parts[count] : dropped;
      int size = zmq_recv(guard->socket, room, sizeof dropped, 0);
      if (size < 0) { /* the context ends */
        zmq_close(guard->socket);
        free(guard);
        return NULL;
      }
      if (count < ZAP_FRAMES)
        sizes[count] = size < (int)sizeof dropped ? size : (int)sizeof dropped;
      count++;
      zmq_getsockopt(guard->socket, ZMQ_RCVMORE, &more, &length);
    }
    bool known = count == ZAP_FRAMES && sizes[6] == KEY_BYTES &&
                 memcmp(parts[6], guard->client, KEY_BYTES) == 0;
    zmq_send(guard->socket, "1.0", 3, ZMQ_SNDMORE);
    zmq_send(guard->socket, parts[1], (size_t)sizes[1], ZMQ_SNDMORE);
    zmq_send(guard->socket, known ? "200" : "400", 3, ZMQ_SNDMORE);
    zmq_send(guard->socket, "", 0, ZMQ_SNDMORE);
    zmq_send(guard->socket, "", 0, ZMQ_SNDMORE);
    zmq_send(guard->socket, "", 0, 0);
  }
}

static bool start_guard(void *context, const char *client) {
  struct guard *guard = calloc(1, sizeof *guard);
  pthread_t thread;
  if (!guard || !zmq_z85_decode(guard->client, client) ||
      !(guard->socket = zmq_socket(context, ZMQ_REP)) ||
      TEMP_FAILURE_RETRY(zmq_bind(guard->socket, "inproc://zeromq.zap.01")) != 0 ||
      pthread_create(&thread, NULL, guard_thread, guard) != 0) {
    if (guard && guard->socket)
      zmq_close(guard->socket);
    free(guard);
    return false;
  }
  pthread_detach(thread);
  return true;
}

void *offload_listen(void *context, const char *address, const char *client,
                     const struct offload_keys *own, char endpoint[OFFLOAD_ENDPOINT_MAX]) {
  if (!start_guard(context, client))
    return NULL;
  void *made = socket_with(context, ZMQ_ROUTER, own);
  const int server = 1, must = 1;
  size_t size = OFFLOAD_ENDPOINT_MAX;
  char at[OFFLOAD_ENDPOINT_MAX];
  const int six = strchr(address, ':') != NULL;
  snprintf(at, sizeof at, six ? "tcp://[%s]:*" : "tcp://%s:*", address);
  if (made && (zmq_setsockopt(made, ZMQ_CURVE_SERVER, &server, sizeof server) != 0 ||
               zmq_setsockopt(made, ZMQ_ROUTER_MANDATORY, &must, sizeof must) != 0 ||
               zmq_setsockopt(made, ZMQ_ZAP_DOMAIN, "ses", 3) != 0 ||
               zmq_setsockopt(made, ZMQ_IPV6, &six, sizeof six) != 0 ||
               TEMP_FAILURE_RETRY(zmq_bind(made, at)) != 0 ||
               zmq_getsockopt(made, ZMQ_LAST_ENDPOINT, endpoint, &size) != 0)) {
    int error = errno;
    zmq_close(made);
    errno = error;
    made = NULL;
  }
  return made;
}
