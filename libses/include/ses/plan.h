/*
 * The plan: memory that a node's ses-agent shares with the programs of one
 * user, byte for byte.  Tickets go in, reports come out; both sides include
 * this file.
 *
 * A ticket is a placement booked in advance.  A program takes the next ticket
 * of its entry by one compare-and-swap, creates the file, and leaves a report;
 * on this way it makes no system call but those of the create itself.
 *
 * Where it is: a System V shared memory segment, made by the agent, owner that
 * user, mode 0600, with the key of ses_plan_key().  Not a file, because who
 * may write a file may also truncate it, and a program that touches a
 * truncated mapping dies of SIGBUS; a segment never shrinks.  It also outlives
 * the agent, so that no report is lost when an agent is killed.
 *
 * A program takes the segment for its plan only if the kernel says that it was
 * made (cuid) by root or by its own effective user, belongs (uid) to its own
 * effective user, is readable and writable by nobody else, and has exactly
 * sizeof(struct ses_plan) bytes; and if magic, version, size and socket_hash
 * of the head are as expected.  Anything else counts as no plan.
 *
 * The agent trusts nothing in here: a user can write all of it.  It keeps its
 * own record of the tickets it dealt to whom, and believes a report only about
 * a ticket of that user and a file that the user owns on the device of the
 * entry.
 *
 * All integers are in host byte order; strings are NUL-terminated inside their
 * fixed arrays; counters only grow and never start again.  Times are
 * milliseconds of CLOCK_MONOTONIC.  "atomic" marks what both sides touch at
 * once; everything else is written by one side before the other may look.
 * Any change of layout or meaning raises SES_PLAN_VERSION.
 */
#ifndef SES_PLAN_H
#define SES_PLAN_H

#include <stdint.h>

#include "ses/protocol.h"

#define SES_PLAN_MAGIC 0x4e414c50u /* "PLAN" in memory on little-endian machines */
#define SES_PLAN_VERSION 2u

#define SES_PLAN_ENTRIES 64   /* (application, requirements, storage system) of one user */
#define SES_PLAN_TICKETS 1024 /* tickets of an entry; a power of two */
#define SES_PLAN_STRIPES 14   /* elements of one ticket */
#define SES_PLAN_ELEMENTS 512 /* elements that tickets of one user refer to at a time */
#define SES_PLAN_REPORTS 4096 /* slots for reports; a power of two */
#define SES_PLAN_PATH_MAX 368 /* bytes, with the NUL */

#define SES_PLAN_STALE_MS 2000u /* a heartbeat older than this: the agent is gone or stuck */

enum ses_plan_state {
  SES_PLAN_ALIVE = 1,
  SES_PLAN_RETIRED = 2, /* look for another segment under the same key */
};

/* One element, written before the first ticket that refers to it and left alone as long as one
 * does. */
struct ses_plan_element {
  uint32_t backend;     /* enum ses_backend */
  uint32_t index;       /* Lustre: the OST's index; else 0 */
  uint32_t lustre_form; /* Lustre: enum ses_lustre_form; that of a ticket's first element counts */
  char element[SES_ELEMENT_MAX];
  char pool[SES_POOL_MAX];            /* Lustre: the pool to create in; empty: none */
  char stage[SES_STAGE_MAX];          /* as in struct ses_answer */
  char stage_in_union[SES_STAGE_MAX]; /* as in struct ses_answer */
  char reserved[4];
};

/* One placement booked in advance. */
struct ses_plan_ticket {
  uint64_t placement_id; /* never 0 */
  uint64_t expires_ms;   /* not to be taken from then on */
  uint64_t stripe_size;  /* bytes; 0: the file system's own */
  double distance;       /* 0: meets every requirement */
  uint16_t stripe_count; /* 0: the file system's own */
  uint16_t element_count;
  uint16_t elements[SES_PLAN_STRIPES]; /* places in ses_plan.elements, in the order of stripes */
};

/*
 * What the tickets for one application, and for what it states itself if it
 * states anything, on one storage system are about, apart
 * from the tickets themselves, so that all entries can be looked through on a
 * few pages.  Entries are used from the first on: one that was never used ends
 * them.  The agent changes what an entry is about only while its sequence is
 * odd, and then raises it to the next even number; a reader compares the
 * sequence before and after.  Before that it withdraws the entry's tickets.
 *
 * Tickets taken..filled-1 are there to be taken, number n of entry e in
 * ses_plan.tickets[e][n % SES_PLAN_TICKETS].  To take one: read taken, compare
 * it with filled, then see that the sequence has not changed; copy the ticket
 * and the elements it names, and move taken from n to n + 1.  When that
 * succeeds nobody has taken or withdrawn the ticket, and the copies are whole;
 * when not, they are worth nothing.  The agent withdraws tickets by the same
 * step, expired ones as well, and never fills a slot whose ticket is still to
 * be taken.  A program takes no ticket that is expired or makes no sense.
 */
struct ses_plan_entry {
  uint32_t sequence;     /* atomic; 0: never used; odd: being written */
  uint32_t device_major; /* st_dev of the storage system's directories */
  uint32_t device_minor;
  uint32_t reserved;
  uint64_t about_hash;                   /* ses_plan_about(), of application and requirements */
  char application[SES_APPLICATION_MAX]; /* empty: any application that has no entry of its own */
  uint64_t taken;                        /* atomic, moved by programs and agent */
  uint64_t filled;                       /* atomic, moved by the agent */
  uint64_t missed; /* atomic: how often a program found nothing to take; the agent books more */
  char padding[16];
};

/*
 * What became of one ticket.  State: 0 free; 2 n + 1 being written under claim
 * number n; 2 n + 2 complete.  A program claims the slot of number n = claimed
 * by moving its state from 0 to 2 n + 1, then moves claimed on to n + 1; a slot
 * that is not free is passed over.  It writes the rest and moves the state
 * from 2 n + 1 to 2 n + 2; that fails when the agent has taken the slot back,
 * which it does with claims that stay unfinished for minutes.  The agent frees
 * a slot after reading it.  A claim can come late, with a number that others
 * have passed: now and then the agent looks at all slots, not only at those of
 * the numbers up to claimed.
 *
 * A slot is claimed before the file is created: without one the ticket is not
 * taken.  A claim for which no ticket was left goes back from 2 n + 1 to 0.
 * The path is as the program gave it, relative to dirfd (AT_FDCWD: the working
 * directory); it is a hint for finding the name, checked against device and
 * inode.
 */
struct ses_plan_report {
  uint64_t state; /* atomic */
  uint64_t placement_id;
  uint64_t device; /* st_dev and st_ino of the created file, as the program sees it */
  uint64_t inode;
  uint64_t directory_device; /* the same of its directory; 0: not known */
  uint64_t directory_inode;
  uint32_t outcome; /* enum ses_outcome */
  int32_t error;    /* errno of the step that failed, else 0 */
  int32_t fd;       /* the program's own descriptor of the file, -1 if there is none */
  int32_t dirfd;
  int32_t pid;          /* as the program sees it: a hint */
  uint32_t path_length; /* 0: not known (too long) */
  char application[SES_APPLICATION_MAX];
  char path[SES_PLAN_PATH_MAX];
  char padding[8];
};

struct ses_plan_head {
  uint32_t magic;
  uint16_t version;
  uint16_t head_size;   /* sizeof(struct ses_plan_head) */
  uint64_t size;        /* sizeof(struct ses_plan) */
  uint64_t socket_hash; /* ses_plan_hash() of the agent's socket path */
  uint64_t instance;    /* random, another one with each start of the agent */
  uint32_t uid;
  uint32_t state;        /* atomic, enum ses_plan_state */
  uint64_t heartbeat_ms; /* atomic */
  uint64_t generation;   /* atomic; grows after an entry appeared or changed what it is about */
  uint64_t claimed;      /* atomic: the number of the next report */
  char padding[4096 - 64];
};

struct ses_plan {
  struct ses_plan_head head;
  struct ses_plan_entry entries[SES_PLAN_ENTRIES];
  struct ses_plan_element elements[SES_PLAN_ELEMENTS];
  struct ses_plan_report reports[SES_PLAN_REPORTS];
  struct ses_plan_ticket tickets[SES_PLAN_ENTRIES][SES_PLAN_TICKETS];
};

/* FNV-1a, 64 bits (Fowler, Noll, Vo; public domain). */
static inline uint64_t ses_plan_hash(const char *text) {
  uint64_t hash = 0xcbf29ce484222325u;
  for (; *text; text++)
    hash = (hash ^ (unsigned char)*text) * 0x100000001b3u;
  return hash;
}

/* What a program looks for: entries for APPLICATION, given by its ses_plan_hash(), and COUNT
 * REQUIREMENTS of the program's own, in the order in which it would ask for them.  Without any it
 * is the hash of the application.  Only an entry without any may serve other applications. */
static inline uint64_t ses_plan_about(uint64_t application,
                                      const struct ses_wire_requirement *requirements,
                                      unsigned count) {
  uint64_t hash = application;
  for (unsigned i = 0; i < count; i++) {
    const unsigned char *bytes = (const unsigned char *)&requirements[i];
    for (unsigned at = 0; at < sizeof requirements[i]; at++)
      hash = (hash ^ bytes[at]) * 0x100000001b3u;
  }
  return hash;
}

/* The key of the segment of UID at the agent that listens on a socket of this hash; never
 * IPC_PRIVATE (0).  A key that meets another segment by chance is seen from its head. */
static inline int32_t ses_plan_key(uint64_t socket_hash, uint32_t uid) {
  uint64_t mixed = (socket_hash ^ uid) * 0x9e3779b97f4a7c15u;
  uint32_t key = (uint32_t)(mixed >> 32);
  return key ? (int32_t)key : 1;
}

#ifdef __cplusplus
#define SES_PLAN_IS(condition, why) static_assert(condition, why)
#else
#define SES_PLAN_IS(condition, why) _Static_assert(condition, why)
#endif
SES_PLAN_IS(sizeof(struct ses_plan_head) == 4096, "the head is one page");
SES_PLAN_IS(sizeof(struct ses_plan_element) == 768, "no padding between elements");
SES_PLAN_IS(sizeof(struct ses_plan_ticket) == 64, "a ticket is one cache line");
SES_PLAN_IS(sizeof(struct ses_plan_report) == 512, "no report crosses a page");
SES_PLAN_IS(sizeof(struct ses_plan_entry) == 128 && sizeof(struct ses_plan) % 4096 == 0,
            "the arrays start on cache lines");
#undef SES_PLAN_IS

#endif /* SES_PLAN_H */
