/*
 * The storage part: one thread receives, the main thread runs one function after another.
 *
 * It ends with its standard input, that is with the client or the connection through which it was
 * started.
 */
#include <errno.h>
#include <inttypes.h>
#include <netdb.h>
#include <poll.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>
#include <zmq.h>

#include "deployed.h"
#include "greeting.h"
#include "init.h"
#include "message.h"
#include "ses/offload.h"
#include "transport.h"

#define CANCELS 256 /* numbers of the last calls that were given up */

static void *context;
static _Atomic uint64_t cancelled[CANCELS];

static bool given_up(uint64_t id) {
  for (size_t i = 0; i < CANCELS; i++)
    if (cancelled[i] == id)
      return true;
  return false;
}

static void refuse(const char *text) {
  printf("%s%s\n", OFFLOAD_REFUSED, text);
  fflush(stdout);
  _exit(EXIT_FAILURE);
}

/* The address of this node on the way to another. */
static bool address_towards(const char *other, char *own, size_t room) {
  struct addrinfo hints = {.ai_socktype = SOCK_DGRAM, .ai_flags = AI_NUMERICHOST}, *list = NULL;
  struct sockaddr_storage at;
  socklen_t size = sizeof at;
  if (getaddrinfo(other, "9", &hints, &list) != 0)
    return false;
  int fd = socket(list->ai_family, SOCK_DGRAM | SOCK_CLOEXEC, 0); /* sends nothing */
  bool known =
      fd >= 0 && connect(fd, list->ai_addr, list->ai_addrlen) == 0 &&
      getsockname(fd, (struct sockaddr *)&at, &size) == 0 &&
      getnameinfo((struct sockaddr *)&at, size, own, (socklen_t)room, NULL, 0, NI_NUMERICHOST) == 0;
  if (fd >= 0)
    close(fd);
  freeaddrinfo(list);
  return known;
}

/* The address to listen on: what the client says, else where ssh reached this node, or the one on
 * the way to where srun was called. */
static const char *address_of(char *asked) {
  static char reached[OFFLOAD_ENDPOINT_MAX];
  const char *ssh = getenv("SSH_CONNECTION"), *srun = getenv("SLURM_LAUNCH_NODE_IPADDR");
  if (strcmp(asked, "-") != 0)
    return asked;
  if (srun && address_towards(srun, reached, sizeof reached))
    return reached;
  if (ssh && sscanf(ssh, "%*s %*s %127s", reached) == 1)
    return reached;
  refuse("the address to listen on is not known; say one (ses_offload_options.address)");
  return NULL;
}

/* Reads a line byte by byte: what follows it is not ours. */
static bool read_line(char *line, size_t room) {
  size_t size = 0;
  while (size + 1 < room && read(STDIN_FILENO, line + size, 1) == 1)
    if (line[size++] == '\n') {
      line[size - 1] = 0;
      return true;
    }
  return false;
}

/* Programs that run on this node or wait for it, for each processor, in hundredths: of the last
 * minute, or now if these are more.  Whole numbers, since the program's locale may have no point in
 * others. */
static unsigned long load(void) {
  unsigned long whole = 0, hundredths = 0, running = 1; /* this one */
  FILE *loads = fopen("/proc/loadavg", "re");
  if (loads) {
    if (fscanf(loads, "%lu.%2lu %*s %*s %lu", &whole, &hundredths, &running) != 3)
      running = 1;
    fclose(loads);
  }
  unsigned long now = running > 1 ? 100 * (running - 1) : 0, minute = 100 * whole + hundredths;
  long processors = sysconf(_SC_NPROCESSORS_ONLN);
  return (now > minute ? now : minute) / (unsigned long)(processors > 0 ? processors : 1);
}

static void *meet(void) {
  char endpoint[OFFLOAD_ENDPOINT_MAX], line[OFFLOAD_LINE_MAX], key[OFFLOAD_KEY_TEXT],
      address[OFFLOAD_ENDPOINT_MAX], why[512];
  uint64_t print;
  unsigned user;
  int directory = 0;
  struct offload_keys own;
  if (!read_line(line, sizeof line))
    _exit(EXIT_FAILURE);
  if (sscanf(line, OFFLOAD_GREETING "%40s %" SCNx64 " %u %127s %n", key, &print, &user, address,
             &directory) != 4 ||
      directory == 0)
    refuse("it speaks another version of ses-offload");
  if (geteuid() == 0)
    refuse("a storage part does not run as root");
  if (user != geteuid()) {
    snprintf(why, sizeof why, "you are uid %u there, and uid %u here", geteuid(), user);
    refuse(why);
  }
  if (print != offload_fingerprint())
    refuse(OFFLOAD_OTHER);
  if (chdir(line + directory) != 0) {
    snprintf(why, sizeof why, "the directory %.300s: %s", line + directory, strerror(errno));
    refuse(why);
  }
  context = zmq_ctx_new();
  if (!context || !offload_make_keys(&own))
    refuse("libzmq there has no CURVE");
  const char *at = address_of(address);
  void *socket = offload_listen(context, at, key, &own, endpoint);
  if (!socket) {
    snprintf(why, sizeof why, "cannot listen on %s: %s", at, zmq_strerror(errno));
    refuse(why);
  }
  unsigned long hundredths = load();
  printf("%s%s %s %lu.%02lu\n", OFFLOAD_GREETING, endpoint, own.open, hundredths / 100,
         hundredths % 100);
  fflush(stdout);
  dup2(STDERR_FILENO, STDOUT_FILENO); /* what functions print is seen where errors are */
  return socket;
}

static void receive(void *socket, void *inward) {
  static size_t next_cancel;
  zmq_msg_t sender, request;
  zmq_msg_init(&sender);
  zmq_msg_init(&request);
  if (zmq_msg_recv(&sender, socket, 0) >= 0 && zmq_msg_more(&sender) &&
      zmq_msg_recv(&request, socket, 0) >= 0 && !zmq_msg_more(&request)) {
    ses_offload_reader from;
    offload_reader_begin(&from, zmq_msg_data(&request), zmq_msg_size(&request));
    struct offload_head head = offload_read_head(&from);
    if (head.kind == OFFLOAD_CANCEL && from.status == SES_OFFLOAD_OK) {
      cancelled[next_cancel++ % CANCELS] = head.id;
    } else if (from.status == SES_OFFLOAD_OK) {
      zmq_msg_send(&sender, inward, ZMQ_SNDMORE);
      zmq_msg_send(&request, inward, 0);
    }
  } else {
    int more = 1;
    size_t size = sizeof more;
    while (zmq_getsockopt(socket, ZMQ_RCVMORE, &more, &size) == 0 && more)
      zmq_msg_recv(&request, socket, 0);
  }
  zmq_msg_close(&sender);
  zmq_msg_close(&request);
}

static void send_reply(void *socket, void *inward) {
  zmq_msg_t part;
  int more = 1;
  while (more) {
    zmq_msg_init(&part);
    if (zmq_msg_recv(&part, inward, 0) < 0)
      return;
    more = zmq_msg_more(&part);
    if (zmq_msg_send(&part, socket, more ? ZMQ_SNDMORE : 0) < 0)
      zmq_msg_close(&part);
  }
}

struct receiver {
  void *socket, *inward;
};

static void *receiver_thread(void *argument) {
  struct receiver *own = argument;
  zmq_pollitem_t items[] = {{NULL, STDIN_FILENO, ZMQ_POLLIN, 0},
                            {own->socket, 0, ZMQ_POLLIN, 0},
                            {own->inward, 0, ZMQ_POLLIN, 0}};
  for (;;) {
    if (zmq_poll(items, 3, -1) < 0 && errno != EINTR)
      _exit(EXIT_FAILURE);
    if (items[0].revents) /* the client has gone */
      _exit(EXIT_SUCCESS);
    if (items[1].revents)
      receive(own->socket, own->inward);
    if (items[2].revents)
      send_reply(own->socket, own->inward);
  }
}

/* A function may have left a timer or a signal handler. */
static void receive_part(zmq_msg_t *part, void *inward) {
  while (zmq_msg_recv(part, inward, 0) < 0)
    if (errno != EINTR)
      _exit(EXIT_FAILURE);
}

static void answer(void *inward) {
  zmq_msg_t sender, request;
  ses_offload_writer reply;
  zmq_msg_init(&sender);
  zmq_msg_init(&request);
  receive_part(&sender, inward);
  receive_part(&request, inward);
  offload_writer_begin(&reply);
  offload_perform(zmq_msg_data(&request), zmq_msg_size(&request), &reply);
  zmq_msg_send(&sender, inward, ZMQ_SNDMORE);
  zmq_send(inward, reply.bytes.data, reply.bytes.size, 0);
  zmq_msg_close(&request);
  offload_writer_free(&reply);
}

/* Tries the domain that the command line asks for, says how that went, and exits; returns if it
 * asks for none. */
static void check_if_asked(void) {
  const char *rsh, *address = offload_checked(&rsh);
  if (!address)
    return;
  ses_offload_options options = {.rsh = rsh};
  ses_offload_domain *domain;
  int status = ses_offload_open(address, &options, &domain);
  if (status == SES_OFFLOAD_OK)
    ses_offload_close(domain);
  else
    fprintf(stderr, "%s\n",
            *ses_offload_reason() ? ses_offload_reason() : ses_offload_strerror(status));
  exit(status == SES_OFFLOAD_OK ? EXIT_SUCCESS : EXIT_FAILURE);
}

void ses_offload_serve(void) {
  if (!offload_is_storage_part())
    check_if_asked();
  if (!offload_is_storage_part() || offload_is_serving())
    return;
  static struct receiver receiver;
  pthread_t thread;
  receiver.socket = meet();
  offload_set_serving();
  receiver.inward = zmq_socket(context, ZMQ_PAIR);
  void *inward = zmq_socket(context, ZMQ_PAIR);
  const int none = 0;
  for (int i = 0; i < 2; i++) {
    zmq_setsockopt(i ? inward : receiver.inward, ZMQ_SNDHWM, &none, sizeof none);
    zmq_setsockopt(i ? inward : receiver.inward, ZMQ_RCVHWM, &none, sizeof none);
  }
  offload_given_up = given_up;
  if (zmq_bind(receiver.inward, "inproc://inward") != 0 ||
      zmq_connect(inward, "inproc://inward") != 0 ||
      pthread_create(&thread, NULL, receiver_thread, &receiver) != 0)
    _exit(EXIT_FAILURE);
  for (;;)
    answer(inward);
}
