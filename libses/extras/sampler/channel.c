#include "channel.h"

#include <errno.h>
#include <fcntl.h>
#include <openssl/ssl.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define MIN_KEY 16
#define MAX_KEY 256
#define GONE_MS 3000 /* what a node has not received by then, it never will */
#define IDENTITY "smed"
#define SUITE "TLS_AES_128_GCM_SHA256" /* the hash that such keys are bound to */

struct smed_channel {
  int socket;
  SSL *tls;
};

static unsigned char key[MAX_KEY + 1];
static size_t key_bytes;

bool smed_channel_key(const char *program, const char *file) {
  struct stat about;
  int opened = open(file, O_RDONLY | O_CLOEXEC | O_NONBLOCK);

  if (opened < 0 || fstat(opened, &about) != 0) {
    fprintf(stderr, "%s: %s: %s\n", program, file, strerror(errno));
    if (opened >= 0)
      close(opened);
    return false;
  }
  const char *wrong = NULL;
  if (!S_ISREG(about.st_mode))
    wrong = "is no regular file";
  else if ((about.st_mode & 077) != 0)
    wrong = "can be read by others; chmod 600";
  ssize_t length = wrong == NULL ? read(opened, key, sizeof(key)) : 0;
  close(opened);
  while (length > 0 && (key[length - 1] == '\n' || key[length - 1] == '\r'))
    length--;
  if (wrong == NULL && (length < MIN_KEY || length > MAX_KEY))
    wrong = "does not hold a key of 16 to 256 bytes";
  if (wrong != NULL) {
    fprintf(stderr, "%s: %s %s\n", program, file, wrong);
    return false;
  }
  key_bytes = (size_t)length;
  return true;
}

bool smed_channel_address(const char *program, const char *text, struct ses_tcp_address *address) {
  address->port[0] = '\0';
  if (ses_tcp_read(text, address) && address->port[0] != '\0')
    return true;
  fprintf(stderr, "%s: \"%s\" is not HOST:PORT\n", program, text);
  return false;
}

static unsigned int server_key(SSL *tls, const char *identity, unsigned char *copy,
                               unsigned int most) {
  (void)tls;
  if (strcmp(identity, IDENTITY) != 0 || key_bytes > most)
    return 0;
  memcpy(copy, key, key_bytes);
  return (unsigned int)key_bytes;
}

static unsigned int client_key(SSL *tls, const char *hint, char *identity, unsigned int most_name,
                               unsigned char *copy, unsigned int most) {
  (void)tls, (void)hint;
  if (most_name < sizeof(IDENTITY) || key_bytes > most)
    return 0;
  memcpy(identity, IDENTITY, sizeof(IDENTITY));
  memcpy(copy, key, key_bytes);
  return (unsigned int)key_bytes;
}

static SSL *session(int socket, bool server) {
  SSL_CTX *context = SSL_CTX_new(server ? TLS_server_method() : TLS_client_method());
  SSL *tls = NULL;

  if (context == NULL)
    return NULL;
  SSL_CTX_set_min_proto_version(context, TLS1_3_VERSION);
  SSL_CTX_set_ciphersuites(context, SUITE);
  SSL_CTX_set_num_tickets(context, 0);
  SSL_CTX_set_mode(context, SSL_MODE_ENABLE_PARTIAL_WRITE | SSL_MODE_ACCEPT_MOVING_WRITE_BUFFER);
  if (server) {
    SSL_CTX_set_psk_server_callback(context,
                                    server_key); /* it has no certificate to show instead */
  } else {
    SSL_CTX_set_verify(context, SSL_VERIFY_PEER, NULL); /* and none would be accepted */
    SSL_CTX_set_psk_client_callback(context, client_key);
  }
  tls = SSL_new(context);
  SSL_CTX_free(context); /* the session keeps it */
  if (tls != NULL && SSL_set_fd(tls, socket) != 1) {
    SSL_free(tls);
    return NULL;
  }
  return tls;
}

/* Whether to try again what gave RESULT: its socket got ready in time. */
static bool again(struct smed_channel *channel, int result, uint64_t deadline_ns) {
  switch (SSL_get_error(channel->tls, result)) {
  case SSL_ERROR_WANT_READ:
    return ses_tcp_wait(channel->socket, POLLIN, deadline_ns) == 0;
  case SSL_ERROR_WANT_WRITE:
    return ses_tcp_wait(channel->socket, POLLOUT, deadline_ns) == 0;
  default:
    return false;
  }
}

static struct smed_channel *greeted(int socket, bool server, uint64_t deadline_ns) {
  struct smed_channel *channel = calloc(1, sizeof(*channel));

  if (channel == NULL) {
    close(socket);
    return NULL;
  }
  channel->socket = socket;
  ses_tcp_watch(socket, GONE_MS);
  channel->tls = session(socket, server);
  while (channel->tls != NULL) {
    int result = server ? SSL_accept(channel->tls) : SSL_connect(channel->tls);

    if (result == 1)
      return channel;
    if (!again(channel, result, deadline_ns))
      break;
  }
  smed_channel_close(channel);
  return NULL;
}

int smed_channel_listen(const char *program, const char *text) {
  struct ses_tcp_address address = {.port = ""};
  const char *why = "";

  if (!smed_channel_address(program, text, &address))
    return -1;
  int opened = ses_tcp_listen(&address, &why);
  if (opened < 0)
    fprintf(stderr, "%s: cannot listen at %s: %s\n", program, text, why);
  else
    fprintf(stderr, "%s: listens at %s:%s\n", program, address.host, address.port);
  return opened;
}

struct smed_channel *smed_channel_accept(int socket, uint64_t deadline_ns) {
  return greeted(socket, true, deadline_ns);
}

struct smed_channel *smed_channel_open(const struct ses_tcp_address *address, uint64_t deadline_ns,
                                       const char **why) {
  int opened;

  *why = "does not answer";
  if (ses_tcp_connect(address, deadline_ns, &opened) != 0)
    return NULL;
  *why = "does not have the same key, or is no smed-sampler";
  return greeted(opened, false, deadline_ns);
}

bool smed_channel_send(struct smed_channel *channel, const void *bytes, size_t count,
                       uint64_t deadline_ns) {
  for (const char *at = bytes; count > 0;) {
    size_t sent = 0;
    int result = SSL_write_ex(channel->tls, at, count, &sent);

    if (result != 1 && !again(channel, result, deadline_ns))
      return false;
    at += sent, count -= sent;
  }
  return true;
}

bool smed_channel_receive(struct smed_channel *channel, void *bytes, size_t count,
                          uint64_t deadline_ns) {
  for (char *at = bytes; count > 0;) {
    size_t received = 0;
    int result = SSL_read_ex(channel->tls, at, count, &received);

    if (result != 1 && !again(channel, result, deadline_ns))
      return false;
    at += received, count -= received;
  }
  return true;
}

bool smed_channel_gone(struct smed_channel *channel) {
  char byte;
  size_t received = 0;
  int result = SSL_read_ex(channel->tls, &byte, 1, &received);

  return result == 1 || SSL_get_error(channel->tls, result) != SSL_ERROR_WANT_READ;
}

void smed_channel_close(struct smed_channel *channel) {
  if (channel->tls != NULL)
    SSL_free(channel->tls);
  close(channel->socket);
  free(channel);
}
