#include "far/session.h"

#include <errno.h>
#include <grp.h>
#include <pwd.h>
#include <signal.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <unistd.h>

#include "far/connection.h"
#include "far/credential.h"
#include "far/proof.h"
#include "ses/share.h"
#include "system/clock.h"

#define HANDSHAKE_NS 10000000000ull
#define FOR_EVER UINT64_MAX
#define ITEMS_MOST SES_SHARE_ITEMS_MAX

struct session {
  struct ses_fabric *fabric;
  uint8_t secret[SES_FAR_NUMBER];
  ses_share *share;
  ses_share_item **items; /* by the numbers that the other side knows */
  uint32_t count;
};

/* ------------------------------------------------------------------- handshake */

/* For good: nothing of the rights of who started this process stays. */
static int become(uid_t user, gid_t group) {
  struct passwd entry, *found = NULL;
  char room[4096];
  if (geteuid() != 0)
    return user == geteuid() ? 0 : EACCES;
  bool known = getpwuid_r(user, &entry, room, sizeof room, &found) == 0 && found;
  if ((known ? initgroups(found->pw_name, group) : setgroups(0, NULL)) != 0 ||
      setresgid(group, group, group) != 0 || setresuid(user, user, user) != 0)
    return EACCES;
  return prctl(PR_SET_PDEATHSIG, SIGKILL) == 0 ? 0 : EACCES; /* another user has it no more */
}

static int prove_self(int connection, const uint8_t *number, const struct ses_tcp_address *here,
                      const char *provider, struct ses_far_proof *own, uint64_t deadline) {
  char about[SES_FAR_ABOUT];
  memset(own, 0, sizeof *own);
  strncpy(own->address.provider, provider, sizeof own->address.provider - 1);
  ses_far_about(SES_FAR_AGENT, number, here, about);
  int status = ses_far_random(own->number);
  if (status == 0)
    status = ses_credential_make(about, own->credential, sizeof own->credential);
  return status != 0 ? status : ses_connection_send(connection, own, sizeof *own, deadline);
}

static int believe(const struct ses_far_proof *theirs, const uint8_t *number,
                   const struct ses_tcp_address *here, uid_t *user, gid_t *group) {
  char about[SES_FAR_ABOUT];
  if (!memchr(theirs->credential, '\0', sizeof theirs->credential))
    return EACCES;
  ses_far_about(SES_FAR_PROCESS, number, here, about);
  return ses_credential_check(theirs->credential, about, user, group);
}

static int welcome(struct session *session, int connection, const char *host, const char *provider,
                   const struct ses_fabric_address *peer, int status, uint64_t deadline) {
  struct ses_far_welcome welcome;
  memset(&welcome, 0, sizeof welcome);
  if (status == 0)
    status = ses_fabric_open(provider, host, SES_FAR_ROOM, connection, &session->fabric,
                             &welcome.address);
  if (status == 0)
    status = ses_fabric_meet(session->fabric, peer);
  if (status == 0)
    status = ses_far_random(session->secret);
  if (status == 0)
    memcpy(welcome.secret, session->secret, sizeof welcome.secret);
  welcome.status = status;
  int sent = ses_connection_send(connection, &welcome, sizeof welcome, deadline);
  return status != 0 ? status : sent;
}

static int shake_hands(struct session *session, int connection, const char *provider,
                       ses_far_proven *proven, void *with) {
  uint64_t deadline = ses_now_ns() + HANDSHAKE_NS;
  struct ses_far_hello hello;
  struct ses_far_proof own, theirs;
  struct ses_tcp_address here;
  uid_t user;
  gid_t group;
  int status = ses_tcp_of(connection, false, &here) ? 0 : EHOSTDOWN;
  if (status == 0)
    status = ses_connection_receive(connection, &hello, sizeof hello, deadline);
  if (status == 0 && (hello.magic != SES_FAR_MAGIC || hello.version != SES_FAR_VERSION))
    status = ENOTSUP;
  if (status == 0)
    status = prove_self(connection, hello.number, &here, provider, &own, deadline);
  if (status == 0)
    status = ses_connection_receive(connection, &theirs, sizeof theirs, deadline);
  if (status != 0)
    return status;
  status = believe(&theirs, own.number, &here, &user, &group);
  if (status == 0)
    proven(user, with);
  if (status == 0)
    status = become(user, group);
  return welcome(session, connection, here.host, provider, &theirs.address, status, deadline);
}

/* -------------------------------------------------------------------- requests */

static int give(struct session *session, ses_share_item *item, struct ses_far_reply *reply) {
  int status = ses_share_look(item, &reply->item_facts);
  if (status == 0 && reply->item_facts.kind.bytes > SES_FAR_VALUE)
    status = EMSGSIZE;
  if (status == 0)
    status = ses_fabric_grow(session->fabric, ses_far_room(reply->item_facts.kind.bytes));
  uint32_t number = 0;
  while (number < session->count && session->items[number])
    number++;
  if (status == 0 && number == session->count) {
    ses_share_item **more = number < ITEMS_MOST
                                ? realloc(session->items, (number + 1) * sizeof(ses_share_item *))
                                : NULL;
    if (more) {
      session->items = more;
      session->count = number + 1;
    } else
      status = ENOMEM;
  }
  if (status != 0) {
    ses_share_let_go(item);
    return status;
  }
  session->items[number] = item;
  reply->item = number;
  return 0;
}

static int put(ses_share_item *item, const struct ses_far_request *asked, const char *value,
               uint64_t bytes, struct ses_far_reply *reply) {
  return asked->bytes == bytes ? ses_share_put(item, value, bytes, &reply->version) : EINVAL;
}

/* The value goes behind the reply. */
static int get(struct session *session, ses_share_item *item, const struct ses_far_request *asked,
               struct ses_far_reply *reply) {
  char *value = (char *)ses_fabric_outgoing(session->fabric) + sizeof *reply;
  size_t room = ses_fabric_room(session->fabric) - sizeof *reply, bytes = 0;
  int status;
  ses_share_refresh(item); /* the other side has a copy of its own, where one will do */
  if (asked->operation == SES_FAR_COPY)
    status = ses_share_copy(item, asked->version, value, room, &bytes);
  else {
    status = ses_share_version(item, &reply->last, &reply->age_seconds);
    if (status == 0)
      status = ses_share_get(item, value, room, &bytes, &reply->version);
  }
  reply->bytes = bytes;
  return status;
}

static int of_item(struct session *session, const struct ses_far_request *asked, const char *value,
                   uint64_t bytes, struct ses_far_reply *reply) {
  ses_share_item *item = asked->item < session->count ? session->items[asked->item] : NULL;
  int status;
  if (!item)
    return EBADF;
  switch (asked->operation) {
  case SES_FAR_LET_GO:
    ses_share_let_go(item);
    session->items[asked->item] = NULL;
    return 0;
  case SES_FAR_FREE:
    status = ses_share_free(item);
    if (status == 0)
      session->items[asked->item] = NULL;
    return status;
  case SES_FAR_LOOK:
    return ses_share_look(item, &reply->item_facts);
  case SES_FAR_PUT:
    return put(item, asked, value, bytes, reply);
  case SES_FAR_GET:
  case SES_FAR_COPY:
    return get(session, item, asked, reply);
  case SES_FAR_VERSION_OF:
    return ses_share_version(item, &reply->last, &reply->age_seconds);
  case SES_FAR_AWAIT:
    return ses_share_await(item, asked->version);
  case SES_FAR_LOCK:
    return ses_share_lock(item);
  case SES_FAR_UNLOCK:
    return ses_share_unlock(item);
  default:
    return EINVAL;
  }
}

static int perform(struct session *session, const struct ses_far_request *asked, const char *value,
                   uint64_t bytes, struct ses_far_reply *reply) {
  ses_share_item *item = NULL;
  int status;
  if (!memchr(asked->name, '\0', sizeof asked->name) || strchr(asked->name, '@'))
    return EINVAL;
  if (asked->operation == SES_FAR_REMOVE)
    return ses_share_remove(asked->name);
  if (asked->operation == SES_FAR_CREATE || asked->operation == SES_FAR_OPEN) {
    if (session->share)
      return EEXIST;
    return asked->operation == SES_FAR_OPEN
               ? ses_share_open(asked->name, &session->share)
               : ses_share_create(asked->name, &asked->options, &session->share);
  }
  if (!session->share)
    return ENOENT;
  uint64_t wait = asked->wait_ns < SES_FAR_SLICE_NS ? asked->wait_ns : SES_FAR_SLICE_NS;
  ses_share_patience(session->share, (double)wait / 1e9);
  switch (asked->operation) {
  case SES_FAR_FACTS:
    return ses_share_facts_of(session->share, &reply->facts);
  case SES_FAR_ITEM_AT:
    return ses_share_item_at(session->share, asked->item, &reply->item_facts);
  case SES_FAR_ALLOC:
  case SES_FAR_FIND:
    status = asked->operation == SES_FAR_FIND
                 ? ses_share_find(session->share, asked->name, &item)
                 : ses_share_alloc(session->share, asked->name, &asked->kind, &item);
    return status != 0 ? status : give(session, item, reply);
  default:
    return of_item(session, asked, value, bytes, reply);
  }
}

static int answer_one(struct session *session) {
  struct ses_far_request asked;
  struct ses_far_reply reply;
  size_t came = 0;
  int status = ses_fabric_receive(session->fabric, &came, FOR_EVER);
  if (status != 0)
    return status;
  memcpy(&asked, ses_fabric_incoming(session->fabric), sizeof asked);
  if (came < sizeof asked || memcmp(asked.secret, session->secret, sizeof asked.secret) != 0)
    return 0; /* somebody else's: no answer */
  memset(&reply, 0, sizeof reply);
  memcpy(reply.secret, session->secret, sizeof reply.secret);
  reply.number = asked.number;
  reply.status =
      perform(session, &asked, (const char *)ses_fabric_incoming(session->fabric) + sizeof asked,
              came - sizeof asked, &reply);
  uint64_t bytes = reply.status == 0 ? reply.bytes : 0;
  memcpy(ses_fabric_outgoing(session->fabric), &reply, sizeof reply);
  return ses_fabric_send(session->fabric, sizeof reply + bytes, FOR_EVER);
}

int ses_far_serve(int connection, const char *provider, ses_far_proven *proven, void *with) {
  struct session session = {0};
  ses_connection_watch(connection);
  int status = shake_hands(&session, connection, provider, proven, with);
  if (status != 0)
    return status;
  while (status == 0)
    status = answer_one(&session);
  return 0;
}
