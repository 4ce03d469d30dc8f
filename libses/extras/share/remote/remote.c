#include "remote/remote.h"

#include <errno.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "remote/proof.h"
#include "runtime/self.h"
#include "system/clock.h"

#define ANSWER_NS                                                                                  \
  10000000000ull /* for a handshake; for an answer, beyond what was to be waited for */

struct ses_remote {
  pthread_mutex_t turn;
  int connection;
  bool lost;
  unsigned keepers;
  int owner; /* the process that opened it */
  uint64_t number;
  uint8_t secret[SES_REMOTE_NUMBER];
  struct ses_fabric *fabric;
};

static const char *node_of(const char *name) {
  const char *at = name ? strrchr(name, '@') : NULL;
  if (!at)
    return NULL;
  const char *colon = strrchr(at, ':'); /* "alice@example.org:best" is no node, but a user */
  if (colon && at[1] != '[' &&
      (colon[1] == '\0' || strspn(colon + 1, "0123456789") != strlen(colon + 1)))
    return NULL;
  return at + 1;
}

bool ses_remote_is_meant(const char *name) { return node_of(name) != NULL; }

/* A child of fork() has the connection as well: what it said there, its parent would have said, and
 * another thread may have had the turn. */
static bool is_of_parent(const struct ses_remote *remote) {
  return remote->owner != ses_self_pid();
}

/* ------------------------------------------------------------------- handshake */

static int prove_self(struct ses_remote *remote, const struct ses_remote_proof *theirs,
                      const struct ses_tcp_address *agent, uint64_t deadline_ns) {
  struct ses_remote_proof own = {0};
  struct ses_tcp_address here;
  char provider[SES_FABRIC_PROVIDER + 1] = "";
  memcpy(provider, theirs->address.provider, SES_FABRIC_PROVIDER);
  int status = ses_remote_prove(SES_REMOTE_PROCESS, theirs->number, agent, &own);
  if (status == 0 && !ses_tcp_of(remote->connection, false, &here))
    status = EHOSTDOWN;
  if (status == 0)
    status = ses_fabric_open(provider, here.host, SES_REMOTE_ROOM, remote->connection,
                             &remote->fabric, &own.address);
  return status != 0 ? status : ses_tcp_send(remote->connection, &own, sizeof own, deadline_ns);
}

static int shake_hands(struct ses_remote *remote, uint64_t deadline_ns) {
  struct ses_remote_hello hello = {.magic = SES_REMOTE_MAGIC, .version = SES_REMOTE_VERSION};
  struct ses_remote_proof theirs;
  struct ses_remote_welcome welcome;
  struct ses_tcp_address agent;
  uid_t user = 0;
  gid_t group;
  int status = ses_remote_random(hello.number);
  if (status == 0 && !ses_tcp_of(remote->connection, true, &agent))
    status = EHOSTDOWN;
  if (status == 0)
    status = ses_tcp_send(remote->connection, &hello, sizeof hello, deadline_ns);
  if (status == 0)
    status = ses_tcp_receive(remote->connection, &theirs, sizeof theirs, deadline_ns);
  if (status == 0)
    status = ses_remote_believe(SES_REMOTE_AGENT, hello.number, &agent, &theirs, &user, &group);
  if (status == 0 && user != 0 && user != geteuid())
    status = EACCES;
  if (status == 0)
    status = prove_self(remote, &theirs, &agent, deadline_ns);
  if (status == 0)
    status = ses_tcp_receive(remote->connection, &welcome, sizeof welcome, deadline_ns);
  if (status == 0)
    status = welcome.status;
  if (status != 0)
    return status;
  memcpy(remote->secret, welcome.secret, sizeof remote->secret);
  return ses_fabric_meet(remote->fabric, &welcome.address);
}

static int connect_to(const char *node, uint64_t deadline_ns, int *connection) {
  struct ses_tcp_address address = {.port = SES_REMOTE_PORT};
  if (!ses_tcp_read(node, &address))
    return EINVAL;
  int status = ses_tcp_connect(&address, deadline_ns, connection);
  if (status == 0)
    ses_tcp_watch(*connection, SES_REMOTE_LOST_MS);
  return status;
}

int ses_remote_open(const char *name, uint32_t operation, const ses_share_options *options,
                    struct ses_remote **remote) {
  struct ses_remote_call call = {.asked.operation = operation};
  const char *node = node_of(name);
  size_t length = node ? (size_t)(node - 1 - name) : 0;
  uint64_t deadline = ses_now_ns() + ANSWER_NS;
  if (length == 0 || length >= sizeof call.asked.name)
    return EINVAL;
  memcpy(call.asked.name, name, length);
  if (options)
    call.asked.options = *options;
  struct ses_remote *made = calloc(1, sizeof *made);
  if (!made)
    return ENOMEM;
  pthread_mutex_init(&made->turn, NULL);
  made->keepers = 1;
  made->owner = ses_self_pid();
  int status = connect_to(node, deadline, &made->connection);
  if (status != 0) {
    free(made);
    return status;
  }
  status = shake_hands(made, deadline);
  if (status == 0)
    status = ses_remote_ask(made, &call, ANSWER_NS);
  if (status != 0)
    ses_remote_close(made);
  else
    *remote = made;
  return status;
}

void ses_remote_close(struct ses_remote *remote) {
  if (is_of_parent(remote)) {
    close(remote->connection);
    return;
  }
  pthread_mutex_lock(&remote->turn);
  remote->lost = true;
  if (remote->fabric)
    ses_fabric_close(remote->fabric);
  close(remote->connection);
  pthread_mutex_unlock(&remote->turn);
  ses_remote_drop(remote);
}

void ses_remote_keep(struct ses_remote *remote) {
  pthread_mutex_lock(&remote->turn);
  remote->keepers++;
  pthread_mutex_unlock(&remote->turn);
}

void ses_remote_drop(struct ses_remote *remote) {
  if (is_of_parent(remote))
    return;
  pthread_mutex_lock(&remote->turn);
  bool last = --remote->keepers == 0;
  pthread_mutex_unlock(&remote->turn);
  if (!last)
    return;
  pthread_mutex_destroy(&remote->turn);
  free(remote);
}

/* --------------------------------------------------------------------- asking */

static bool is_reply(const struct ses_remote *remote, const struct ses_remote_reply *reply,
                     uint64_t bytes) {
  return bytes >= sizeof *reply &&
         memcmp(reply->secret, remote->secret, sizeof remote->secret) == 0 &&
         reply->number == remote->number;
}

/* A value may have so many bytes from now on. */
static int expect(const struct ses_remote *remote, uint64_t bytes) {
  return bytes > SES_REMOTE_VALUE ? EMSGSIZE
                                  : ses_fabric_grow(remote->fabric, ses_remote_room(bytes));
}

/* What is no answer, or one to what was asked before, is passed over: anybody can send to this
 * endpoint. */
static int receive_reply(struct ses_remote *remote, struct ses_remote_reply *reply, size_t *came,
                         uint64_t deadline) {
  do {
    int status = ses_fabric_receive(remote->fabric, came, deadline);
    if (status != 0)
      return status;
    memcpy(reply, ses_fabric_incoming(remote->fabric), sizeof *reply);
  } while (!is_reply(remote, reply, *came) && ses_now_ns() < deadline);
  return is_reply(remote, reply, *came) ? 0 : ETIMEDOUT;
}

static int exchange(struct ses_remote *remote, struct ses_remote_call *call) {
  struct ses_remote_request *request = &call->asked;
  struct ses_remote_reply *reply = &call->came;
  uint64_t sent = ses_now_ns(), deadline = sent + request->wait_ns + ANSWER_NS;
  char *out = ses_fabric_outgoing(remote->fabric);
  size_t came = 0;
  memcpy(request->secret, remote->secret, sizeof remote->secret);
  request->number = ++remote->number;
  memcpy(out, request, sizeof *request);
  if (request->bytes > 0)
    memcpy(out + sizeof *request, call->value, request->bytes);
  int status = ses_fabric_send(remote->fabric, sizeof *request + request->bytes, deadline);
  if (status == 0)
    status = receive_reply(remote, reply, &came, deadline);
  if (status != 0)
    return status;
  const char *in = ses_fabric_incoming(remote->fabric);
  uint64_t bytes = came - sizeof *reply;
  if (bytes > call->room) { /* the value is larger than the caller has room for */
    reply->status = reply->status ? reply->status : EMSGSIZE;
    return 0;
  }
  if (bytes > 0 && bytes != reply->bytes)
    return EHOSTDOWN;
  if (bytes > 0)
    memcpy(call->buffer, in + sizeof *reply, bytes);
  if (reply->status == 0 &&
      (request->operation == SES_REMOTE_ALLOC || request->operation == SES_REMOTE_FIND))
    reply->status = expect(remote, reply->item_facts.kind.bytes);
  /* It may have waited on the way: an age counts from when it was asked for. */
  double age = reply->version == reply->last ? reply->age_seconds : 0;
  reply->put_ns = age > 0 && age * 1e9 < (double)sent ? sent - (uint64_t)(age * 1e9) : sent;
  return 0;
}

int ses_remote_ask(struct ses_remote *remote, struct ses_remote_call *call, uint64_t patience_ns) {
  struct ses_remote_request *request = &call->asked;
  uint64_t start = ses_now_ns();
  if (is_of_parent(remote))
    return EHOSTDOWN;
  for (;;) {
    uint64_t gone = ses_now_ns() - start;
    request->wait_ns = gone < patience_ns ? patience_ns - gone : 0;
    if (request->wait_ns > SES_REMOTE_SLICE_NS) /* others have their turn meanwhile */
      request->wait_ns = SES_REMOTE_SLICE_NS;
    pthread_mutex_lock(&remote->turn);
    int status = remote->lost ? EHOSTDOWN : exchange(remote, call);
    remote->lost |= status != 0;
    pthread_mutex_unlock(&remote->turn);
    if (status != 0)
      return status;
    if (call->came.status != ETIMEDOUT || request->wait_ns == 0 || gone >= patience_ns)
      return call->came.status;
  }
}
