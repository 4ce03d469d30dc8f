/*
 * The candidate table: what a node's ses-agent publishes, read-only, for every
 * program of the node to choose from when it creates a file; byte for byte.
 * Both sides include this file.
 *
 * Where it is and when a program believes it: ses/segment.h.  The agent is root's
 * or the program's own effective user's.
 *
 * In it are, for each storage system that is mounted here, up to 64 elements as
 * ses/core.h describes them, with the loads that the service told last and the
 * files of this node since then, and where each element is.  The elements lie in
 * an order of the node's own, by which nodes differ that hear of each other late;
 * `numbers` says which place each has in the site's order, so that processes of a
 * job on different nodes can keep apart.
 *
 * Order, also on processors that reorder what others see (ARM).  What a word makes valid is written
 * before it with release order and read after it with acquire order: the head's magic, `state`,
 * `users`, `mounts`, and of a user `segment`.  A mount that is replaced says first that it is gone,
 * then its device, last its system; a reader asks for the system, the device, and the system again:
 * if both agree, the device was of that system.  Of a system all is plain memory under `sequence`,
 * whose fences keep what is read between its two looks.  Words that change in between are loads and
 * stores of one word each, which no processor tears; none makes another valid but `own` and
 * `counted` of ses/claims.h.
 *
 * A system is read under its `sequence` (ses/sequence.h).  Only `own`, `reserved`,
 * `server_streams`, `last_placed` and what is promised of an element, `excluded` and `streams`
 * change in between, a word at a time; they may be read at any moment.  Everything that is read
 * must be bounded before it is used as an index.
 *
 * The table also says where the claims of each user lie (ses/claims.h), so that
 * no other user can put a segment in that place.
 *
 * Strings are NUL-terminated inside their fixed arrays; times are milliseconds.
 * "atomic" marks what is read and written at once.
 */
#ifndef SES_TABLE_H
#define SES_TABLE_H

#include <stdint.h>

#include "ses/core.h"
#include "ses/protocol.h"
#include "ses/segment.h"

#define SES_TABLE_MAGIC 0x4c424154u /* "TABL" in memory on little-endian machines */
#define SES_TABLE_VERSION 1u

#define SES_TABLE_SYSTEMS 8    /* storage systems mounted here */
#define SES_TABLE_ELEMENTS 64  /* of a system */
#define SES_TABLE_MOUNTS 32    /* devices by which the systems are reached */
#define SES_TABLE_USERS 256    /* with claims of their own */
#define SES_TABLE_PATH_MAX 288 /* bytes, with the NUL; there is room for "/.ses/UID" after it */

#define SES_TABLE_STALE_MS 2000u /* a heartbeat older than this: the agent is gone or stuck */

enum ses_table_state {
  SES_TABLE_ALIVE = 1,
  SES_TABLE_RETIRED = 2, /* look for another segment under the same key */
};

/* A device whose directories belong to a storage system.  Written before `mounts` of the head
 * counts it; a system that is gone has the number SES_TABLE_SYSTEMS. */
struct ses_table_mount {
  uint32_t device_major; /* st_dev of the directories */
  uint32_t device_minor;
  uint32_t system; /* atomic; its place in ses_table.systems */
  uint32_t reserved;
  char mount_point[SES_TABLE_PATH_MAX];
};

/* Where an element is. */
struct ses_table_place {
  uint32_t index;                /* Lustre: the OST's index; else 0 */
  uint32_t lustre_form;          /* Lustre: enum ses_lustre_form */
  char element[SES_ELEMENT_MAX]; /* "system/element" */
  char pool[SES_POOL_MAX];       /* Lustre: the pool to create in; empty: none */
  __extension__ union {
    char branch[SES_TABLE_PATH_MAX];    /* mergerfs: the branch's directory */
    uint64_t members[SES_MEMBER_WORDS]; /* Lustre: as in struct ses_answer */
  };
  uint64_t reserved;
};

struct ses_table_system {
  uint32_t sequence;        /* ses/sequence.h */
  uint32_t backend;         /* enum ses_backend */
  uint32_t count;           /* elements */
  uint32_t candidate_limit; /* see ses_table_candidate_limit() */
  uint64_t epoch;           /* another one after every change but those of a word at a time */
  uint64_t sent_ms;         /* when the service sent the loads */
  uint64_t excluded;        /* atomic; bit r: row r can take no file of anybody now */
  struct ses_core_policy policy;
  uint32_t total; /* elements of the storage system, of which the node has `count` */
  /* Of each row: the place of its element in the site's own order, from 0; the same on all nodes */
  uint32_t numbers[SES_TABLE_ELEMENTS];
  uint32_t streams; /* atomic; of files of this node, on all elements */
  char padding[112];
  struct ses_core_element elements[SES_TABLE_ELEMENTS];
  struct ses_table_place places[SES_TABLE_ELEMENTS];
};

/* The claims of one user.  What only the agent can write: a user could give the head of the own
 * segment the instance of somebody else's, and make placements of the same ids. */
struct ses_table_user {
  uint32_t uid;
  int32_t segment;   /* atomic; the number shmat() takes; negative: none */
  uint64_t instance; /* atomic; that the head of the segment must say; written before `segment` */
};

struct ses_table_head {
  struct ses_segment_head segment; /* SES_TABLE_KIND */
  uint64_t socket_hash;            /* ses_segment_hash() of the agent's socket path */
  uint64_t instance;               /* random, another one with each start of the agent */
  uint64_t heartbeat_ms;           /* atomic */
  uint32_t state;                  /* atomic, enum ses_table_state */
  uint32_t asleep;                 /* atomic; 1: the agent waits on this word; see ses/claims.h */
  uint32_t users;                  /* atomic; how many of `users` were ever used */
  uint32_t mounts;                 /* atomic; the same of `mounts` */
  char padding[4096 - 56];
};

struct ses_table {
  struct ses_table_head head;
  struct ses_table_user users[SES_TABLE_USERS];
  struct ses_table_mount mounts[SES_TABLE_MOUNTS];
  char padding[4096 - (SES_TABLE_USERS * 16 + SES_TABLE_MOUNTS * 304) % 4096];
  struct ses_table_system systems[SES_TABLE_SYSTEMS];
};

#define SES_TABLE_KIND                                                                             \
  { SES_TABLE_MAGIC, SES_TABLE_VERSION, sizeof(struct ses_table_head), sizeof(struct ses_table) }

/* The row that RANK begins at, of COUNT rows with these NUMBERS out of TOTAL: that of the element
 * of its own in the site's order, so that the ranks of a job do not meet, on whatever node they
 * are; where the node has only some of the elements, a row of its own among them; without a rank
 * the first. */
static inline uint32_t ses_table_first(const uint32_t *numbers, uint32_t count, uint32_t total,
                                       const struct ses_rank *rank) {
  if (rank->ranks == 0 || count == 0 || total == 0)
    return 0;
  uint64_t own = (uint64_t)rank->job + rank->rank;
  for (uint32_t row = 0; row < count && total <= count; row++)
    if (numbers[row] == own % total)
      return row;
  return (uint32_t)(own % count);
}

/* How many rows are compared (0: all), see struct ses_core_query, where other nodes leave
 * CANDIDATE_LIMIT for a first file.  The node's own STREAMS are known, and each takes one more.
 * Ranks elsewhere than a process of RANK place files as well that are not heard of yet. */
static inline uint32_t ses_table_candidate_limit(uint32_t candidate_limit, uint32_t streams,
                                                 uint32_t total, const struct ses_rank *rank) {
  if (rank->ranks == 0 || rank->elsewhere == 0)
    return candidate_limit != 0 ? candidate_limit + streams : 0;
  uint64_t apart = ((uint64_t)total + rank->elsewhere / 2) / rank->elsewhere;
  uint32_t own = apart < 1 ? 1 : apart < SES_TABLE_ELEMENTS ? (uint32_t)apart : SES_TABLE_ELEMENTS;
  return candidate_limit != 0 && candidate_limit < own ? candidate_limit : own;
}

#ifdef __cplusplus
#define SES_TABLE_IS(condition, why) static_assert(condition, why)
#else
#define SES_TABLE_IS(condition, why) _Static_assert(condition, why)
#endif
SES_TABLE_IS(sizeof(struct ses_table_head) == 4096, "the head is one page");
SES_TABLE_IS(sizeof(struct ses_table_user) == 16, "no padding between users");
SES_TABLE_IS(sizeof(struct ses_table_mount) == 304, "no padding between mounts");
SES_TABLE_IS(sizeof(struct ses_table_place) == 512, "no place crosses a page");
SES_TABLE_IS(sizeof(struct ses_table_system) % 128 == 0 && sizeof(struct ses_table) % 128 == 0,
             "the arrays start on cache lines");
#undef SES_TABLE_IS

#endif /* SES_TABLE_H */
