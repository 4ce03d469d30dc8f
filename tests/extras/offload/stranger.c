/* Connects to a storage part with its right key but a key of its own; says what became of that. */
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <zmq.h>

int main(int argc, char **argv) {
  char open[41], secret[41], frame[6];
  uint16_t event = 0;
  void *context = zmq_ctx_new();
  void *socket = zmq_socket(context, ZMQ_DEALER), *events = zmq_socket(context, ZMQ_PAIR);
  if (argc != 3 || zmq_curve_keypair(open, secret) != 0)
    return 2;
  zmq_setsockopt(socket, ZMQ_CURVE_SERVERKEY, argv[2], 41);
  zmq_setsockopt(socket, ZMQ_CURVE_PUBLICKEY, open, 41);
  zmq_setsockopt(socket, ZMQ_CURVE_SECRETKEY, secret, 41);
  zmq_socket_monitor(socket, "inproc://events",
                     ZMQ_EVENT_HANDSHAKE_SUCCEEDED | ZMQ_EVENT_HANDSHAKE_FAILED_AUTH |
                         ZMQ_EVENT_HANDSHAKE_FAILED_PROTOCOL);
  zmq_connect(events, "inproc://events");
  zmq_connect(socket, argv[1]);
  zmq_recv(events, frame, sizeof frame, 0);
  memcpy(&event, frame, sizeof event);
  printf("event=%s\n", event == ZMQ_EVENT_HANDSHAKE_FAILED_AUTH ? "auth"
                       : event == ZMQ_EVENT_HANDSHAKE_SUCCEEDED ? "succeeded"
                                                                : "protocol");
  fflush(stdout);
  _Exit(0);
}
