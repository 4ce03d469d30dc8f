/*
 * The claims: memory that a node's ses-agent shares with the programs of one
 * user, byte for byte.  What this user's files need goes in, claims come out;
 * both sides include this file.
 *
 * A program that creates a file chooses an element of the candidate table
 * (ses/table.h) with the core (ses/core.h) and claims it here; the agent takes
 * claims up within milliseconds and counts them for everybody on the node, later
 * for everybody.  On this way a program makes no system call but those of the
 * create itself, and one futex call if the agent sleeps.
 *
 * Where it is and when a program believes it: ses/segment.h; the table says its
 * number and instance.  It outlives the agent, so that no claim is lost when an
 * agent is killed.
 *
 * The agent trusts nothing in here: a user can write all of it, and so mislead
 * themself.  It bounds every number, computes the placement's id itself, believes
 * a claim only about a file that the user owns on a device of the system, counts
 * no more claims of a user than there are slots, and never lets a claim of one
 * user change what another user's files need.
 *
 * Conventions are those of ses/table.h.
 */
#ifndef SES_CLAIMS_H
#define SES_CLAIMS_H

#include "ses/table.h"

#define SES_CLAIMS_MAGIC 0x4d494c43u /* "CLIM" in memory on little-endian machines */
#define SES_CLAIMS_VERSION 1u

#define SES_CLAIMS_NEEDS (SES_APPLICATIONS_MAX + 1) /* one for those without needs of their own */
#define SES_CLAIMS_SLOTS 2048                       /* a power of two */
#define SES_CLAIMS_PATH_MAX 368                     /* bytes, with the NUL */
#define SES_CLAIMS_STRIPES 14                       /* elements of one file */

/*
 * What files of one application need (number 0: those of any application without
 * an own entry), unless the program states other requirements itself; those go
 * before, kind by kind.  Entries are used from the first on: one whose sequence is
 * 0 ends them.  The agent changes one only while its sequence is odd, and then
 * raises it to the next even number; a reader compares the sequence before and
 * after.
 */
struct ses_claims_need {
  uint32_t sequence; /* atomic */
  uint32_t reserved;
  uint64_t application_hash; /* ses_segment_hash() of its name */
  uint64_t digest;           /* of what the need was resolved from; another one: other needs */
  struct ses_core_need need;
  char padding[16];
};

/*
 * One claim.  State: 0 free; 2 n + 1 being written under number n; 2 n + 2
 * complete.  A program takes the slot of number n = head.next by moving its state
 * from 0 to 2 n + 1, then moves next on to n + 1; a slot that is not free is
 * passed over.
 *
 * Then it chooses, and adds 1 to `claimed` of each row it chose, by a compare-and-swap
 * from the value it chose by: if that fails, somebody else was quicker, or if the
 * sequence of the system has changed, it takes back what it has added and chooses
 * once more, a few times at most; the last time it adds whatever was there.  It
 * writes row_count (0 as long as nothing is claimed) and the other members that the
 * choice gave; wakes the agent if head.asleep of the table is 1, by FUTEX_WAKE on
 * that word; creates the file; writes the rest; and moves the state from 2 n + 1 to
 * 2 n + 2.  That fails when the agent has taken the slot back, which it does with
 * claims that stay unfinished for minutes.  The agent frees a slot after reading it.
 * A claim for which nothing could be chosen goes back from 2 n + 1 to 0.
 *
 * The agent is woken by the choice only: it stays awake while a claim is unfinished,
 * or looks at the slots now and then.  The agent empties `job` and `stated` before it frees a slot.
 *
 * Order, also on processors that reorder what others see (ARM).  A slot is plain memory between two
 * moves of its state, which are acquire and release: it is the program's from 2 n + 1 to 2 n + 2,
 * and the agent's until it is free.  The agent adds what it counted to `own` of the table and then
 * stores `counted` with release order; a program loads `counted` with acquire order and then `own`,
 * so that each claim is in one of them, or in both for a moment.  `claimed` only shows whether it
 * is what was seen: nothing depends on it, and it needs no order but its own.  After a claim a
 * program looks at the sequence again, which the processor may do before others see the claim: then
 * the agent counts a claim on a row of a table that is gone, and the program takes it back, since
 * it looks once more after it has read where the element is.  That the agent sleeps and that there
 * is a claim are said in one order for all (sequentially consistent): the program moves next and
 * reads head.asleep, the agent writes head.asleep and reads next, and one of them sees the other.
 *
 * The path is as the program gave it, relative to dirfd (AT_FDCWD: the working
 * directory); it is a hint for finding the name, checked against device and inode.
 */
struct ses_claim {
  uint64_t state;  /* atomic */
  uint64_t device; /* st_dev and st_ino of the created file, as the program sees it */
  uint64_t inode;
  uint64_t directory_device; /* the same of its directory; 0: not known */
  uint64_t directory_inode;
  uint64_t epoch;   /* of the system when it was chosen from */
  uint64_t digest;  /* of the entry the need is from; 0: there was none */
  uint32_t outcome; /* enum ses_outcome */
  int32_t error;    /* errno of the step that failed, else 0 */
  int32_t fd;       /* the program's own descriptor of the file, -1 if there is none */
  int32_t dirfd;
  int32_t pid;          /* as the program sees it: a hint */
  uint32_t path_length; /* 0: not known (too long) */
  uint32_t system;      /* its place in ses_table.systems */
  uint32_t row_count;
  uint8_t rows[SES_CLAIMS_STRIPES]; /* chosen, in the order of stripes */
  uint8_t attempts;                 /* how often it chose */
  uint8_t first;                    /* the row it began at; see struct ses_core_query */
  uint32_t candidate_limit;         /* how many it compared; 0: all */
  uint32_t rank;                    /* of the process in its job, of so many; 0: it has none */
  uint32_t ranks;
  uint32_t stated;           /* by the program: so many requirements, the first of need */
  struct ses_core_need need; /* that the choice was made by */
  /* What the choice saw of each row: own streams and claims together, at most 65535. */
  uint16_t seen[SES_TABLE_ELEMENTS];
  char application[SES_APPLICATION_MAX];
  char path[SES_CLAIMS_PATH_MAX];
  char job[SES_JOB_MAX]; /* as the batch system names it; empty: none is known */
  char padding[64];
};

struct ses_claims_head {
  struct ses_segment_head segment; /* SES_CLAIMS_KIND */
  uint64_t instance;               /* random, as the table says; ids are made of it */
  uint32_t uid;
  uint32_t state;      /* atomic, enum ses_table_state */
  uint64_t generation; /* atomic; grows after an entry appeared or changed what it is about */
  uint64_t next;       /* atomic: the number of the next claim */
  /* Rows of each system on which this user's files can be staged (mergerfs: the directory is
   * there); the others count as excluded. */
  uint64_t staged[SES_TABLE_SYSTEMS]; /* atomic */
  char padding[4096 - 48 - 8 * SES_TABLE_SYSTEMS];
};

struct ses_claims {
  struct ses_claims_head head;
  /* Atomic.  Claims of each row that programs made, and those of them that `own` of the table
   * holds: the difference is what a choice must add.  It is below 0, and counts as 0, where a
   * program has taken back what the agent had counted already. */
  uint32_t claimed[SES_TABLE_SYSTEMS][SES_TABLE_ELEMENTS];
  uint32_t counted[SES_TABLE_SYSTEMS][SES_TABLE_ELEMENTS];
  struct ses_claims_need needs[SES_CLAIMS_NEEDS];
  struct ses_claim claims[SES_CLAIMS_SLOTS];
};

#define SES_CLAIMS_KIND                                                                            \
  {                                                                                                \
    SES_CLAIMS_MAGIC, SES_CLAIMS_VERSION, sizeof(struct ses_claims_head),                          \
        sizeof(struct ses_claims)                                                                  \
  }

/* The id of the placement of claim NUMBER: 64 bits that no other claim anywhere is likely to have
 * (the finaliser of splitmix64, Steele et al. 2014); never 0. */
static inline uint64_t ses_claims_id(uint64_t instance, uint64_t number) {
  uint64_t mixed = instance + (number + 1) * 0x9e3779b97f4a7c15u;
  mixed = (mixed ^ (mixed >> 30)) * 0xbf58476d1ce4e5b9u;
  mixed = (mixed ^ (mixed >> 27)) * 0x94d049bb133111ebu;
  mixed ^= mixed >> 31;
  return mixed ? mixed : 1;
}

#ifdef __cplusplus
#define SES_CLAIMS_IS(condition, why) static_assert(condition, why)
#else
#define SES_CLAIMS_IS(condition, why) _Static_assert(condition, why)
#endif
SES_CLAIMS_IS(sizeof(struct ses_claims_head) == 4096, "the head is one page");
SES_CLAIMS_IS(sizeof(struct ses_claim) == 1024, "no claim crosses a page");
SES_CLAIMS_IS(sizeof(struct ses_claims_need) == 256, "no entry crosses a cache line");
SES_CLAIMS_IS(sizeof(struct ses_claims) % 4096 == 0, "claims start on pages");
#undef SES_CLAIMS_IS

#endif /* SES_CLAIMS_H */
