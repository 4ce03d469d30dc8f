/*
 * A shared region, byte for byte (ses/share.h says what it is for).
 *
 *   head, one page | records, one per item | heap: the slots of all items
 *
 * An item has keep + 1 slots; version v lies in slot v % (keep + 1), so that a put never touches
 * the last finished value.  A slot's `stamp` is the version that lies there, or 0 while it is
 * written.
 *
 * Who writes what: the head once, by who creates the region; a record by who holds `making` of the
 * head; the slots, `last` and the end of an item by who holds `writing` of its record; the locks by
 * atomic steps.
 * Everything may be changed at any time by who may write the region: what is read here is bounded
 * before it is used.
 *
 * Any change of layout or meaning raises SES_SHARE_VERSION.
 */
#ifndef SES_SHM_LAYOUT_H
#define SES_SHM_LAYOUT_H

#include <stdatomic.h>
#include <stdint.h>

#include "lock.h"
#include "ses/segment.h"
#include "ses/share.h"

#define SES_SHARE_MAGIC 0x52414853u /* "SHAR" in memory on little-endian machines */
#define SES_SHARE_VERSION 1u

struct ses_share_head {
  struct ses_segment_head segment;
  uint64_t heap;  /* where the slots begin */
  uint32_t items; /* records */
  _Atomic uint32_t ready;
  uint64_t pid_namespace; /* inode of the creator's: holders of locks are known by process number */
  struct ses_lock making; /* held while records are made */
  char name[SES_SHARE_NAME_MAX];
  char padding[4096 - 112];
};

struct ses_share_record {
  _Atomic uint64_t generation; /* odd: in use; grows by one with each alloc and free */
  uint64_t at;                 /* first slot, from the start of the region */
  uint64_t bytes;              /* of the largest value */
  uint64_t versions;           /* DELTA */
  uint64_t age_ns;             /* TEMPORAL */
  uint32_t model;
  uint32_t slots;
  char name[SES_SHARE_NAME_MAX];
  char padding[16];
  /* another cache line: what changes with each put */
  _Atomic uint64_t last;     /* version of the last finished put */
  _Atomic uint32_t awaited;  /* somebody waits for a later version */
  _Atomic uint32_t arrivals; /* the word that they wait on */
  struct ses_lock writing;   /* held during a put, and while the item is freed */
  struct ses_lock held;      /* ses_share_lock() */
  _Atomic uint64_t holds;    /* times that `held` was taken */
  char rest[24];
};

struct ses_share_slot {
  _Atomic uint64_t stamp;
  _Atomic uint64_t bytes;
  _Atomic uint64_t put_ns; /* CLOCK_MONOTONIC */
  uint64_t padding;
  _Atomic uint64_t words[];
};

_Static_assert(sizeof(struct ses_share_head) == 4096, "the head is one page");
_Static_assert(sizeof(struct ses_share_record) == 192, "records start on cache lines");
_Static_assert(sizeof(struct ses_share_slot) == 32, "stated in ses/share.h");

#define SES_SHARE_LINE 64u

/* Bytes from one slot to the next. */
static inline uint64_t ses_share_slot_bytes(uint64_t bytes) {
  return (sizeof(struct ses_share_slot) + bytes + SES_SHARE_LINE - 1) &
         ~(uint64_t)(SES_SHARE_LINE - 1);
}

#endif /* SES_SHM_LAYOUT_H */
