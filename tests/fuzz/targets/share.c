/* A process of another node, as the agent's process that serves it sees it; and a region whose
 * owner writes anything into it.  The input is a list of requests, and of words that change the
 * region; and, as text, the address of a node. */
#include <stddef.h>
#include <sys/shm.h>

#include "must.h"
#include "region.h"
/* What stands in for libfabric is below. */
#include "remote/session.c"

struct ses_fabric {
  size_t room;
  char *incoming, *outgoing;
};

static struct ses_fabric fabric;
static const uint8_t *input;
static size_t left;

void *ses_fabric_outgoing(struct ses_fabric *fabric) { return fabric->outgoing; }
const void *ses_fabric_incoming(struct ses_fabric *fabric) { return fabric->incoming; }
size_t ses_fabric_room(const struct ses_fabric *fabric) { return fabric->room; }

int ses_fabric_grow(struct ses_fabric *fabric, size_t room) {
  if (room > fabric->room) {
    fabric->incoming = realloc(fabric->incoming, room);
    fabric->outgoing = realloc(fabric->outgoing, room);
    MUST(fabric->incoming && fabric->outgoing);
    fabric->room = room;
  }
  return 0;
}

int ses_fabric_send(struct ses_fabric *fabric, size_t bytes, uint64_t deadline) {
  (void)deadline;
  MUST(bytes <= fabric->room);
  return 0;
}

static size_t take(void *into, size_t bytes) {
  size_t taken = bytes < left ? bytes : left;
  memcpy(into, input, taken);
  input += taken;
  left -= taken;
  return taken;
}

/* Words of the region change: their owner may write what it likes.  Not what says that the head is
 * complete: who made it lives here, and is waited for as long as 5 s. */
static void damage(unsigned times) {
  struct {
    uint16_t at;
    uint64_t word;
  } __attribute__((packed)) change;
  while (times-- > 0 && session.share && session.share->at &&
         take(&change, sizeof change) == sizeof change)
    if ((uint64_t)change.at * 8 + 8 <= session.share->bytes &&
        change.at != offsetof(struct ses_share_head, ready) / 8)
      memcpy(session.share->at + (size_t)change.at * 8, &change.word, 8);
}

/* "OPERATION ITEM BYTES CHANGES", then the rest of the request where BYTES say so. */
int ses_fabric_receive(struct ses_fabric *fabric, size_t *bytes, uint64_t deadline) {
  uint8_t head[4];
  struct ses_remote_request asked = {.kind = {.bytes = 64}, .name = "fuzz"};
  (void)deadline;
  if (take(head, sizeof head) < sizeof head)
    return EHOSTDOWN;
  damage(head[3] % 8);
  memcpy(asked.secret, session.secret, sizeof asked.secret);
  asked.operation = head[0];
  asked.item = head[1];
  if (head[3] & 0x80)
    take((char *)&asked + sizeof asked.secret + 8, sizeof asked - sizeof asked.secret - 8);
  asked.wait_ns %= 100000;
  if (asked.options.bytes > 1 << 20)
    asked.options.bytes = 1 << 20; /* the kernel's memory is not what is tested */
  snprintf(asked.name, sizeof asked.name, "fuzz-%d", (int)getpid());
  asked.bytes = asked.operation == SES_REMOTE_PUT && !(head[3] & 0x40) ? head[2] : asked.bytes;
  memcpy(fabric->incoming, &asked, sizeof asked);
  *bytes = sizeof asked + take(fabric->incoming + sizeof asked, head[2]);
  return 0;
}

int ses_fabric_open(const char *provider, const char *host, size_t room, int connection,
                    struct ses_fabric **made, struct ses_fabric_address *own) {
  (void)provider, (void)host, (void)room, (void)connection, (void)made, (void)own;
  return ENOTSUP;
}
int ses_fabric_meet(struct ses_fabric *fabric, const struct ses_fabric_address *peer) {
  (void)fabric, (void)peer;
  return 0;
}
void ses_fabric_close(struct ses_fabric *fabric) { (void)fabric; }

static void read_address(const uint8_t *data, size_t size) {
  struct ses_tcp_address address = {"", "1"};
  char *text = strndup((const char *)data, size); /* exactly as long as it is */
  if (ses_tcp_read(text, &address))
    MUST(memchr(address.host, '\0', sizeof address.host) &&
         memchr(address.port, '\0', sizeof address.port));
  free(text);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
  char name[32];
  read_address(data, size);
  snprintf(name, sizeof name, "fuzz-%d", (int)getpid());
  ses_share_remove(name);
  input = data, left = size;
  session.fabric = &fabric;
  ses_fabric_grow(&fabric, SES_REMOTE_ROOM);
  MUST(ses_share_create(name, &(ses_share_options){.bytes = 16384, .items = 8}, &session.share) ==
       0);
  for (unsigned turn = 0; turn < 40 && answer_one() == 0; turn++)
    ;
  for (unsigned i = 0; i < ITEMS_MAX; i++)
    if (session.items[i]) {
      ses_share_let_go(session.items[i]);
      session.items[i] = NULL;
    }
  shmctl(session.share->id, IPC_RMID, NULL); /* its name may be gone */
  ses_share_close(session.share);
  session.share = NULL;
  return 0;
}
