#include "remote/session.h"

#include <errno.h>
#include <grp.h>
#include <pwd.h>
#include <signal.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <unistd.h>

#include "remote/memory.h"
#include "remote/proof.h"
#include "ses/share.h"
#include "system/clock.h"

#define HANDSHAKE_NS 10000000000ull
#define FOR_EVER UINT64_MAX
#define ITEMS_MAX SES_SHARE_ITEMS_MAX
#define ITEM_BYTES 256u /* of this process, for an item without a copy */

/* The one that this process serves. */
static struct {
  struct ses_fabric *fabric;
  uint8_t secret[SES_REMOTE_NUMBER];
  ses_share *share;
  bool writes;                      /* its memory is not more than its owner may have */
  ses_share_item *items[ITEMS_MAX]; /* by the numbers that the other side knows; NULL: free */
  uint64_t held[ITEMS_MAX];         /* bytes of this process, for each */
} session;

/* ------------------------------------------------------------------- handshake */

/* For good: nothing of the rights of who started this process stays. */
static int become(uid_t user, gid_t group) {
  struct passwd entry, *account = NULL;
  char room[4096];
  if (geteuid() != 0)
    return user == geteuid() ? 0 : EACCES;
  bool known = getpwuid_r(user, &entry, room, sizeof room, &account) == 0 && account;
  if ((known ? initgroups(account->pw_name, group) : setgroups(0, NULL)) != 0 ||
      setresgid(group, group, group) != 0 || setresuid(user, user, user) != 0)
    return EACCES;
  return prctl(PR_SET_PDEATHSIG, SIGKILL) == 0 ? 0 : EACCES; /* another user has it no more */
}

static int prove_self(int connection, const uint8_t *number, const struct ses_tcp_address *here,
                      const char *provider, struct ses_remote_proof *own, uint64_t deadline) {
  strncpy(own->address.provider, provider, sizeof own->address.provider - 1);
  int status = ses_remote_random(own->number);
  if (status == 0)
    status = ses_remote_prove(SES_REMOTE_AGENT, number, here, own);
  return status != 0 ? status : ses_tcp_send(connection, own, sizeof *own, deadline);
}

static int welcome(int connection, const char *host, const char *provider,
                   const struct ses_fabric_address *peer, int status, uint64_t deadline) {
  struct ses_remote_welcome welcome = {0};
  if (status == 0)
    status = ses_fabric_open(provider, host, SES_REMOTE_ROOM, connection, &session.fabric,
                             &welcome.address);
  if (status == 0)
    status = ses_fabric_meet(session.fabric, peer);
  if (status == 0)
    status = ses_remote_random(session.secret);
  memcpy(welcome.secret, session.secret, sizeof welcome.secret);
  welcome.status = status;
  int sent = ses_tcp_send(connection, &welcome, sizeof welcome, deadline);
  return status != 0 ? status : sent;
}

static int shake_hands(int connection, const char *provider, ses_remote_proven *proven) {
  uint64_t deadline = ses_now_ns() + HANDSHAKE_NS;
  struct ses_remote_hello hello;
  struct ses_remote_proof own = {0}, theirs;
  struct ses_tcp_address here;
  uid_t user;
  gid_t group;
  int status = ses_tcp_of(connection, false, &here) ? 0 : EHOSTDOWN;
  if (status == 0)
    status = ses_tcp_receive(connection, &hello, sizeof hello, deadline);
  if (status == 0 && (hello.magic != SES_REMOTE_MAGIC || hello.version != SES_REMOTE_VERSION))
    status = ENOTSUP;
  if (status == 0)
    status = prove_self(connection, hello.number, &here, provider, &own, deadline);
  if (status == 0)
    status = ses_tcp_receive(connection, &theirs, sizeof theirs, deadline);
  if (status != 0)
    return status;
  status = ses_remote_believe(SES_REMOTE_PROCESS, own.number, &here, &theirs, &user, &group);
  if (status == 0)
    proven(user);
  if (status == 0)
    status = become(user, group);
  return welcome(connection, here.host, provider, &theirs.address, status, deadline);
}

/* -------------------------------------------------------------------- requests */

/* Room for messages with values of so many BYTES, one each way. */
static int grow(uint64_t bytes) {
  uint64_t before = ses_fabric_room(session.fabric), after = ses_remote_room(bytes);
  uint64_t more = after > before ? 2 * (after - before) : 0;
  if (!ses_memory_take(more))
    return EDQUOT;
  int status = ses_fabric_grow(session.fabric, after);
  if (status != 0)
    ses_memory_give_back(more);
  return status;
}

/* What an item takes of this process: a copy of the value, for two of the models. */
static uint64_t held_for(const ses_share_kind *kind) {
  bool copies = kind->model == SES_SHARE_DELTA || kind->model == SES_SHARE_NULL;
  return ITEM_BYTES + (copies ? kind->bytes : 0);
}

static int give(ses_share_item *item, struct ses_remote_reply *reply) {
  int status = ses_share_look(item, &reply->item_facts);
  uint64_t held = status == 0 ? held_for(&reply->item_facts.kind) : 0;
  if (status == 0 && reply->item_facts.kind.bytes > SES_REMOTE_VALUE)
    status = EMSGSIZE;
  if (status == 0)
    status = grow(reply->item_facts.kind.bytes);
  if (status == 0 && !ses_memory_take(held))
    status = EDQUOT;
  uint32_t number = 0;
  while (number < ITEMS_MAX && session.items[number])
    number++;
  if (status == 0 && number == ITEMS_MAX) {
    ses_memory_give_back(held);
    status = ENOMEM;
  }
  if (status != 0) {
    ses_share_let_go(item);
    return status;
  }
  session.items[number] = item;
  session.held[number] = held;
  reply->item = number;
  return 0;
}

/* The value goes behind the reply. */
static int get(ses_share_item *item, const struct ses_remote_request *asked,
               struct ses_remote_reply *reply) {
  char *value = (char *)ses_fabric_outgoing(session.fabric) + sizeof *reply;
  size_t room = ses_fabric_room(session.fabric) - sizeof *reply, bytes = 0;
  int status;
  ses_share_refresh(item); /* the other side has a copy of its own, where one will do */
  if (asked->operation == SES_REMOTE_COPY)
    status = ses_share_copy(item, asked->version, value, room, &bytes);
  else {
    status = ses_share_version(item, &reply->last, &reply->age_seconds);
    if (status == 0)
      status = ses_share_get(item, value, room, &bytes, &reply->version);
  }
  reply->bytes = bytes;
  return status;
}

static int of_item(const struct ses_remote_request *asked, const char *value, uint64_t bytes,
                   struct ses_remote_reply *reply) {
  ses_share_item *item = asked->item < ITEMS_MAX ? session.items[asked->item] : NULL;
  int status = 0;
  if (!item)
    return EBADF;
  switch (asked->operation) {
  case SES_REMOTE_LET_GO:
  case SES_REMOTE_FREE:
    if (asked->operation == SES_REMOTE_FREE)
      status = ses_share_free(item);
    else
      ses_share_let_go(item);
    if (status == 0) {
      session.items[asked->item] = NULL;
      ses_memory_give_back(session.held[asked->item]);
    }
    return status;
  case SES_REMOTE_LOOK:
    return ses_share_look(item, &reply->item_facts);
  case SES_REMOTE_PUT:
    if (!session.writes)
      return EDQUOT;
    return asked->bytes == bytes ? ses_share_put(item, value, bytes, &reply->version) : EINVAL;
  case SES_REMOTE_GET:
  case SES_REMOTE_COPY:
    return get(item, asked, reply);
  case SES_REMOTE_VERSION_OF:
    return ses_share_version(item, &reply->last, &reply->age_seconds);
  case SES_REMOTE_AWAIT:
    return ses_share_await(item, asked->version);
  case SES_REMOTE_LOCK:
    return ses_share_lock(item);
  case SES_REMOTE_UNLOCK:
    return ses_share_unlock(item);
  default:
    return EINVAL;
  }
}

/* The memory that a put takes is charged to the agent's processes, whoever made the region. */
static int open_region(const char *name) {
  ses_share_facts facts;
  int status = ses_share_open(name, &session.share);
  if (status == 0 && ses_share_facts_of(session.share, &facts) == 0)
    session.writes = ses_memory_fits(facts.owner);
  return status;
}

/* Made first and looked at then: of several sessions at once none is overlooked. */
static int create_region(const char *name, const ses_share_options *options) {
  int status = ses_share_create(name, options, &session.share);
  session.writes = status == 0 && ses_memory_fits(geteuid());
  if (status != 0 || session.writes)
    return status;
  ses_share_close(session.share);
  session.share = NULL;
  ses_share_remove(name);
  return EDQUOT;
}

static int perform(const struct ses_remote_request *asked, const char *value, uint64_t bytes,
                   struct ses_remote_reply *reply) {
  ses_share_item *item = NULL;
  int status;
  if (!memchr(asked->name, '\0', sizeof asked->name) || strchr(asked->name, '@'))
    return EINVAL;
  if (asked->operation == SES_REMOTE_REMOVE)
    return ses_share_remove(asked->name);
  if (asked->operation == SES_REMOTE_CREATE || asked->operation == SES_REMOTE_OPEN) {
    if (session.share)
      return EEXIST;
    return asked->operation == SES_REMOTE_OPEN ? open_region(asked->name)
                                               : create_region(asked->name, &asked->options);
  }
  if (!session.share)
    return ENOENT;
  uint64_t wait = asked->wait_ns < SES_REMOTE_SLICE_NS ? asked->wait_ns : SES_REMOTE_SLICE_NS;
  ses_share_patience(session.share, (double)wait / 1e9);
  switch (asked->operation) {
  case SES_REMOTE_FACTS:
    return ses_share_facts_of(session.share, &reply->facts);
  case SES_REMOTE_ITEM_AT:
    return ses_share_item_at(session.share, asked->item, &reply->item_facts);
  case SES_REMOTE_ALLOC:
  case SES_REMOTE_FIND:
    status = asked->operation == SES_REMOTE_FIND
                 ? ses_share_find(session.share, asked->name, &item)
                 : ses_share_alloc(session.share, asked->name, &asked->kind, &item);
    return status != 0 ? status : give(item, reply);
  default:
    return of_item(asked, value, bytes, reply);
  }
}

static int answer_one(void) {
  struct ses_remote_request asked;
  struct ses_remote_reply reply = {0};
  size_t came = 0;
  int status = ses_fabric_receive(session.fabric, &came, FOR_EVER);
  if (status != 0)
    return status;
  const char *message = ses_fabric_incoming(session.fabric);
  memcpy(&asked, message, sizeof asked);
  if (came < sizeof asked || memcmp(asked.secret, session.secret, sizeof asked.secret) != 0)
    return 0; /* somebody else's: no answer */
  memcpy(reply.secret, session.secret, sizeof reply.secret);
  reply.number = asked.number;
  reply.status = perform(&asked, message + sizeof asked, came - sizeof asked, &reply);
  uint64_t bytes = reply.status == 0 ? reply.bytes : 0;
  memcpy(ses_fabric_outgoing(session.fabric), &reply, sizeof reply);
  return ses_fabric_send(session.fabric, sizeof reply + bytes, FOR_EVER);
}

int ses_remote_serve(int connection, const char *provider, uint64_t poll_ns,
                     ses_remote_proven *proven) {
  ses_tcp_watch(connection, SES_REMOTE_LOST_MS);
  int status = shake_hands(connection, provider, proven);
  if (status != 0)
    return status;
  ses_fabric_poll(session.fabric, poll_ns);
  while (status == 0)
    status = answer_one();
  return 0;
}
