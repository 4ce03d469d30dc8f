/*
 * How a process uses a region of another node, byte for byte.
 *
 * It connects to that node's ses-share-agent.  Over the connection (TCP) go, in this order:
 *
 *   hello     -> a number of its own
 *   proof    <-  a MUNGE credential of the agent's user, over that number; another number; which
 *                provider of libfabric the node has
 *   proof     -> a MUNGE credential of the process' user, over the agent's number; where its
 *                endpoint is
 *   welcome  <-  where the agent's endpoint is, for this process alone; a secret
 *
 * A credential names the protocol, the side and the address of the agent as both see it, so that it
 * is good for nothing else and cannot be passed on to another node.  The agent's process has by
 * then become the user who was proven, with that user's groups, for good: the kernel decides what
 * it may read and write.
 *
 * From then on nothing is said over the connection: it ends when one of the two is gone, which the
 * other sees.  The process sends a request through libfabric, and the agent's one reply; both begin
 * with the secret.  One request at a time.
 *
 * Any change of layout or meaning raises SES_REMOTE_VERSION.
 */
#ifndef SES_REMOTE_MESSAGE_H
#define SES_REMOTE_MESSAGE_H

#include <stdint.h>

#include "remote/fabric.h"
#include "ses/share.h"

#define SES_REMOTE_MAGIC 0x52414653u /* "SFAR" in memory on little-endian machines */
#define SES_REMOTE_VERSION 1u
#define SES_REMOTE_PORT "8635"
#define SES_REMOTE_LOST_MS 5000     /* what is not acknowledged for so long ends the connection */
#define SES_REMOTE_NUMBER 16u       /* bytes of a random number */
#define SES_REMOTE_CREDENTIAL 4096u /* bytes of a credential, with the NUL */
#define SES_REMOTE_ROOM 4096u       /* of a message at first: any without a value */
#define SES_REMOTE_VALUE ((uint64_t)64 << 20) /* bytes of the largest value */
#define SES_REMOTE_NAME 256u                  /* "[USER:]NAME", with the NUL */
#define SES_REMOTE_SLICE_NS                                                                        \
  20000000ull /* how long the agent's process waits for a lock or a value                          \
               */

struct ses_remote_hello {
  uint32_t magic;
  uint32_t version;
  uint8_t number[SES_REMOTE_NUMBER];
};

struct ses_remote_proof {
  char credential[SES_REMOTE_CREDENTIAL];
  uint8_t number[SES_REMOTE_NUMBER];
  struct ses_fabric_address address; /* of the agent's: the provider alone */
};

struct ses_remote_welcome {
  int32_t status; /* errno; else what follows is not valid */
  uint32_t reserved;
  uint8_t secret[SES_REMOTE_NUMBER];
  struct ses_fabric_address address;
};

enum ses_remote_operation { /* functions of ses/share.h; a number is never used again */
                            SES_REMOTE_CREATE = 1,
                            SES_REMOTE_OPEN = 2,
                            SES_REMOTE_REMOVE = 3,
                            SES_REMOTE_FACTS = 4,
                            SES_REMOTE_ALLOC = 5,
                            SES_REMOTE_FIND = 6,
                            SES_REMOTE_LET_GO = 7,
                            SES_REMOTE_FREE = 8,
                            SES_REMOTE_LOOK = 9,
                            SES_REMOTE_ITEM_AT = 10,
                            SES_REMOTE_PUT = 11,
                            SES_REMOTE_GET = 12,
                            SES_REMOTE_COPY = 13,
                            SES_REMOTE_VERSION_OF = 14,
                            SES_REMOTE_AWAIT = 15,
                            SES_REMOTE_LOCK = 16,
                            SES_REMOTE_UNLOCK = 17,
};

struct ses_remote_request {
  uint8_t secret[SES_REMOTE_NUMBER];
  uint64_t number;    /* of the request, from 1 */
  uint32_t operation; /* enum ses_remote_operation */
  uint32_t item;      /* as FIND or ALLOC gave it; or a place, for ITEM_AT */
  uint64_t version;   /* COPY, AWAIT */
  uint64_t wait_ns;   /* at most, for others */
  uint64_t bytes;     /* PUT: of the value, which follows */
  ses_share_options options;
  ses_share_kind kind;
  char name[SES_REMOTE_NAME];
};

struct ses_remote_reply {
  uint8_t secret[SES_REMOTE_NUMBER];
  uint64_t number;
  int32_t status; /* of the function */
  uint32_t item;
  uint64_t version;   /* of the value */
  uint64_t last;      /* the last version, just before the value was read */
  double age_seconds; /* of that */
  uint64_t put_ns;    /* not sent: when the value was put, or before; CLOCK_MONOTONIC here */
  uint64_t bytes;     /* GET, COPY: of the value, which follows where it fits */
  ses_share_facts facts;
  ses_share_item_facts item_facts;
};

_Static_assert(sizeof(struct ses_remote_request) + SES_REMOTE_NUMBER <= SES_REMOTE_ROOM, "fits");
_Static_assert(sizeof(struct ses_remote_reply) + SES_REMOTE_NUMBER <= SES_REMOTE_ROOM, "fits");

/* Room for a message with a value of BYTES. */
static inline uint64_t ses_remote_room(uint64_t bytes) { return SES_REMOTE_ROOM + bytes; }

#endif /* SES_REMOTE_MESSAGE_H */
