/*
 * The table smed-sampler publishes to: a file in shared memory, one record per block device, with
 * the head of the kit (ses/segment.h).
 *
 * A reader reads records of the file without a lock, and does not map it: a file can be cut short.
 * A copy of a record counts when its sequence (ses/sequence.h) is even and its check right.  One
 * counter for the whole table would starve readers whenever the writer is preempted while writing.
 * What readers write, asked_ns, and each record have cache lines of their own.
 *
 * A writer that dies in the middle of a record leaves its counter odd; the next writer makes it
 * even again.  Readers judge the age of a record by its time, never by the life of the writer.
 *
 * smed-mirror keeps such tables of other nodes: same layout, times moved to this node's clock.
 *
 * Does NOT: serve several writers, or machines of another byte order.
 */
#ifndef SMED_TABLE_H
#define SMED_TABLE_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "ses/segment.h"
#include "ses/sequence.h"

#define SMED_TABLE_MAGIC 0x44454d53u /* "SMED" */
#define SMED_TABLE_VERSION 3u
#define SMED_TABLE_MAX 4096u

/* How what is in a table came to this node. */
enum smed_via {
  SMED_VIA_HERE = 0,      /* smed-sampler of this node wrote it */
  SMED_VIA_ONE_SIDED = 1, /* smed-mirror read it from another node's memory */
  SMED_VIA_PULL = 2,      /* smed-mirror asked another node's smed-sampler over TCP */
  SMED_VIA_NOTHING = 3,   /* smed-mirror does not reach the other node */
};

/* Counters since the device appeared; in_flight is the number at that moment.  The space is that of
 * the file system on it, and no part of the counters' moment: of the last ten seconds. */
struct smed_sample {
  uint64_t monotonic_ns; /* CLOCK_MONOTONIC when the counters were read */
  uint64_t read_bytes;
  uint64_t written_bytes;
  uint64_t operations;
  uint64_t busy_ms;
  uint64_t request_ms; /* grows by the requests in flight every millisecond */
  uint64_t in_flight;
  uint64_t size_bytes; /* 0: the space is not known */
  uint64_t free_bytes; /* what unprivileged users can still write */
  uint64_t read_only;  /* 1: nobody can write */
  uint64_t check;      /* smed_sample_check of the others */
};

struct smed_record {
  uint32_t sequence; /* ses/sequence.h */
  char name[36];
  _Atomic uint64_t words[sizeof(struct smed_sample) / sizeof(uint64_t)];
};

struct smed_table {
  struct ses_segment_head segment; /* smed_table_kind() */
  uint32_t count;
  uint32_t record_bytes;
  uint64_t period_ns;
  _Atomic uint32_t via; /* enum smed_via */
  char reserved[28];
  _Atomic uint64_t asked_ns; /* set by a reader (CLOCK_MONOTONIC) that wants samples */
  char padding[56];
  struct smed_record records[];
};

_Static_assert(sizeof(struct smed_table) == 128 && sizeof(struct smed_record) == 128,
               "records start on cache lines");

static inline size_t smed_table_bytes(uint32_t count) {
  return sizeof(struct smed_table) + count * sizeof(struct smed_record);
}

#define SMED_AWAKE_NS 2000000000ull /* so long a question counts */

/* Whether a reader wants samples. */
static inline bool smed_table_is_asked(const struct smed_table *table, uint64_t now_ns) {
  uint64_t asked = atomic_load_explicit(&table->asked_ns, memory_order_relaxed);
  return asked != 0 && asked + SMED_AWAKE_NS > now_ns;
}

static inline struct ses_segment_head smed_table_kind(uint32_t count) {
  return (struct ses_segment_head){SMED_TABLE_MAGIC, SMED_TABLE_VERSION, sizeof(struct smed_table),
                                   smed_table_bytes(count)};
}

/* A hash of the words before the last.  A copy that mixes two samples has another but for one
 * chance in 2^64, and one wrong word always shows: readers of another node cannot see in which
 * order the words of a record were fetched, so that the sequence alone tells them little. */
static inline uint64_t smed_sample_check(const uint64_t *words) {
  uint64_t check = 0x5eed;
  for (size_t i = 0; i + 1 < sizeof(struct smed_sample) / sizeof(uint64_t); i++) {
    check = (check ^ words[i]) * 0x9e3779b97f4a7c15u;
    check ^= check >> 32;
  }
  return check;
}

/* Whether a copy of a record is of one sample: nobody was writing it, and its words belong
 * together. */
static inline bool smed_record_is_whole(const struct smed_record *copy) {
  const uint64_t *words = (const uint64_t *)copy->words;

  return ses_sequence_is_whole(copy->sequence) &&
         words[sizeof(struct smed_sample) / sizeof(uint64_t) - 1] == smed_sample_check(words);
}

/* Publish `sample`; its check is filled in here.  One writer only. */
static inline void smed_table_write(struct smed_record *record, const struct smed_sample *sample) {
  const uint64_t *words = (const uint64_t *)sample;
  const size_t last = sizeof(*sample) / sizeof(uint64_t) - 1;
  uint32_t before = record->sequence;

  ses_sequence_begin(&record->sequence, before);
  for (size_t i = 0; i < last; i++)
    atomic_store_explicit(&record->words[i], words[i], memory_order_relaxed);
  atomic_store_explicit(&record->words[last], smed_sample_check(words), memory_order_relaxed);
  ses_sequence_end(&record->sequence, before);
}

#endif
