/*
 * The table smed-sampler publishes to: a file in shared memory, one record per block device.
 *
 * A reader maps the file read-only and copies records without a lock and without system calls. Each
 * record has a sequence counter of its own: odd while it is being written, two higher afterwards.
 * One counter for the whole table would starve readers whenever the writer is preempted while
 * writing.
 *
 * A writer that dies in the middle of a record leaves its counter odd: smed_table_read then gives
 * up after SMED_TABLE_TRIES and says so; the next writer makes it even again.  Readers judge the
 * age of a record by its time, never by the life of the writer.
 *
 * Does NOT: serve several writers, other nodes, or machines of another byte order.
 */
#ifndef SMED_TABLE_H
#define SMED_TABLE_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define SMED_TABLE_MAGIC 0x44454d53u /* "SMED" */
#define SMED_TABLE_VERSION 1u
#define SMED_TABLE_MOST 4096u
#define SMED_TABLE_TRIES 1000

/* Counters since the device appeared; in_flight is the number at that moment. */
struct smed_sample {
  uint64_t monotonic_ns; /* CLOCK_MONOTONIC when the counters were read */
  uint64_t read_bytes;
  uint64_t written_bytes;
  uint64_t operations;
  uint64_t busy_ms;
  uint64_t request_ms; /* grows by the requests in flight every millisecond */
  uint64_t in_flight;
  uint64_t check; /* xor of the others: a second proof, for tests */
};

struct smed_record {
  _Atomic uint32_t sequence;
  uint32_t major;
  uint32_t minor;
  char name[36];
  _Atomic uint64_t words[sizeof(struct smed_sample) / sizeof(uint64_t)];
};

struct smed_table {
  uint32_t magic;
  uint32_t version;
  uint32_t count;
  uint32_t record_bytes;
  uint64_t period_ns;
  _Atomic uint64_t asked_ns; /* set by a reader (CLOCK_MONOTONIC) that wants samples */
  struct smed_record records[];
};

static inline size_t smed_table_bytes(uint32_t count) {
  return sizeof(struct smed_table) + count * sizeof(struct smed_record);
}

static inline uint64_t smed_sample_check(const uint64_t *words) {
  uint64_t check = 0x5eed;
  for (size_t i = 0; i + 1 < sizeof(struct smed_sample) / sizeof(uint64_t); i++)
    check ^= words[i] * (2 * i + 3);
  return check;
}

/* Publish `sample`; its check is filled in here.  One writer only. */
static inline void smed_table_write(struct smed_record *record, const struct smed_sample *sample) {
  const uint64_t *words = (const uint64_t *)sample;
  const size_t last = sizeof(*sample) / sizeof(uint64_t) - 1;
  uint32_t sequence = atomic_load_explicit(&record->sequence, memory_order_relaxed) | 1u;

  atomic_store_explicit(&record->sequence, sequence, memory_order_relaxed);
  atomic_thread_fence(memory_order_release);
  for (size_t i = 0; i < last; i++)
    atomic_store_explicit(&record->words[i], words[i], memory_order_relaxed);
  atomic_store_explicit(&record->words[last], smed_sample_check(words), memory_order_relaxed);
  atomic_store_explicit(&record->sequence, sequence + 1, memory_order_release);
}

/* Copy a record.  False: it was being written every time, or its writer died in the middle. */
static inline bool smed_table_read(const struct smed_record *record, struct smed_sample *sample) {
  uint64_t *words = (uint64_t *)sample;

  for (int tries = 0; tries < SMED_TABLE_TRIES; tries++) {
    uint32_t before = atomic_load_explicit(&record->sequence, memory_order_acquire);

    if (before & 1u)
      continue;
    for (size_t i = 0; i < sizeof(*sample) / sizeof(uint64_t); i++)
      words[i] = atomic_load_explicit(&record->words[i], memory_order_relaxed);
    atomic_thread_fence(memory_order_acquire);
    if (atomic_load_explicit(&record->sequence, memory_order_relaxed) == before)
      return true;
  }
  return false;
}

#endif
