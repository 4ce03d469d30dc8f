/*
 * Values: put, get, versions, waiting and the lock of an item.
 *
 * A put writes the slot after the last version's, and then says which version is the last; so a
 * get seldom has to repeat itself, and what a killed process wrote is never seen.  A slot's words
 * are read and written one at a time, without order among them; the stamp before and after says
 * whether they belong together (a sequence lock; Boehm, MSPC 2012).
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "items.h"
#include "remote/remote.h"
#include "system/clock.h"

#define TRIES 64            /* of a get, before it looks at the clock */
#define LOOK_NS 50000000ull /* how long a sleep lasts at most */
#define MIN_PAUSE_NS 20000u /* of who may only read, and cannot be woken */
#define MAX_PAUSE_NS 2000000u

/* Has a call waited for others long enough?  *DEADLINE is 0 at first. */
static bool is_too_late(const struct ses_share_item *item, uint64_t *deadline) {
  uint64_t now = ses_now_ns();
  if (*deadline == 0)
    *deadline = now + item->share->patience_ns;
  return now > *deadline;
}

static uint64_t deadline_of(const struct ses_share_item *item) {
  return ses_now_ns() + item->share->patience_ns;
}

static void back_off(uint64_t *ns) {
  nanosleep(&(struct timespec){.tv_nsec = (long)*ns}, NULL);
  *ns = *ns * 2 < MAX_PAUSE_NS ? *ns * 2 : MAX_PAUSE_NS;
}

/* ---------------------------------------------------------------------- slots */

static void write_words(_Atomic uint64_t *words, const char *from, size_t bytes) {
  uint64_t word;
  for (; bytes >= sizeof word; bytes -= sizeof word, from += sizeof word, words++) {
    memcpy(&word, from, sizeof word);
    atomic_store_explicit(words, word, memory_order_relaxed);
  }
  if (bytes > 0) {
    word = 0;
    memcpy(&word, from, bytes);
    atomic_store_explicit(words, word, memory_order_relaxed);
  }
}

static uint64_t word_at(const _Atomic uint64_t *at) {
  return atomic_load_explicit(at, memory_order_relaxed);
}

static void read_words(const _Atomic uint64_t *words, char *into, size_t bytes) {
  for (; bytes >= sizeof *words; bytes -= sizeof *words, into += sizeof *words, words++) {
    uint64_t word = word_at(words);
    memcpy(into, &word, sizeof word);
  }
  if (bytes > 0) {
    uint64_t word = word_at(words);
    memcpy(into, &word, bytes);
  }
}

/* What was read of a slot. */
struct taken {
  uint64_t version;
  uint64_t bytes;
  uint64_t put_ns;
};

/* Read VERSION into BUFFER of ROOM.  ESTALE: it does not lie there, or not any more. */
static int read_version(const struct ses_share_item *item, uint64_t version, char *buffer,
                        size_t room, struct taken *taken) {
  const struct ses_share_slot *slot = ses_share_slot_of(item, version);
  if (atomic_load_explicit(&slot->stamp, memory_order_acquire) != version)
    return ESTALE;
  taken->version = version;
  taken->bytes = atomic_load_explicit(&slot->bytes, memory_order_relaxed);
  taken->put_ns = atomic_load_explicit(&slot->put_ns, memory_order_relaxed);
  if (taken->bytes <= room && taken->bytes <= item->bytes)
    read_words(slot->words, buffer, taken->bytes);
  atomic_thread_fence(memory_order_acquire);
  if (atomic_load_explicit(&slot->stamp, memory_order_relaxed) != version ||
      taken->bytes > item->bytes)
    return ESTALE;
  if (!ses_share_item_lives(item))
    return EBADF;
  return taken->bytes <= room ? 0 : EMSGSIZE;
}

static int read_last(const struct ses_share_item *item, char *buffer, size_t room,
                     struct taken *taken) {
  uint64_t deadline = 0;
  for (unsigned tries = 1;; tries++) {
    uint64_t last = atomic_load_explicit(&item->record->last, memory_order_acquire);
    if (last == 0)
      return ses_share_item_lives(item) ? ENOENT : EBADF;
    int status = read_version(item, last, buffer, room, taken);
    if (status != ESTALE)
      return status;
    if (!ses_share_item_lives(item))
      return EBADF;
    if (tries % TRIES == 0 && is_too_late(item, &deadline))
      return ETIMEDOUT;
  }
}

/* ---------------------------------------------------------- of another node */

static int remote_read(const struct ses_share_item *item, uint32_t operation, uint64_t version,
                       char *buffer, size_t room, struct taken *taken) {
  struct ses_remote_call call = {.asked.version = version, .buffer = buffer, .room = room};
  int status = ses_share_ask(item, operation, &call);
  *taken = (struct taken){call.came.version, call.came.bytes, call.came.put_ns};
  return status == 0 && taken->bytes > room ? EMSGSIZE : status;
}

/* ------------------------------------------------------------------------ get */

static int read_newest(const struct ses_share_item *item, char *buffer, size_t room,
                       struct taken *taken) {
  return item->remote ? remote_read(item, SES_REMOTE_GET, 0, buffer, room, taken)
                      : read_last(item, buffer, room, taken);
}

/* Until nobody else held the lock from before the value was read to after. */
static int read_strictly(const struct ses_share_item *item, char *buffer, size_t room,
                         struct taken *taken) {
  const struct ses_share_record *record = item->record;
  uint64_t deadline = 0, ns = MIN_PAUSE_NS;
  for (;;) {
    uint64_t holds = atomic_load_explicit(&record->holds, memory_order_acquire);
    if (ses_lock_is_open(&record->held)) {
      int status = read_last(item, buffer, room, taken);
      if (status != 0 && status != EMSGSIZE && status != ENOENT)
        return status;
      atomic_thread_fence(memory_order_acquire);
      if (ses_lock_is_open(&record->held) &&
          atomic_load_explicit(&record->holds, memory_order_acquire) == holds)
        return status;
    }
    if (!ses_share_item_lives(item))
      return EBADF;
    if (is_too_late(item, &deadline))
      return ETIMEDOUT;
    back_off(&ns);
  }
}

static int is_copy_enough(ses_share_item *item, bool *enough) {
  uint64_t last = 0;
  bool asks = item->model == SES_SHARE_DELTA && item->copy_version != 0;
  int status = asks ? ses_share_version(item, &last, NULL) : 0;
  *enough = item->copy_version != 0 && (!asks || last - item->copy_version <= item->versions);
  return status;
}

static int renew_copy(struct ses_share_item *item) {
  struct taken taken;
  if (!item->copy)
    item->copy = malloc(item->bytes);
  if (!item->copy)
    return ENOMEM;
  item->copy_version = 0;
  int status = read_newest(item, item->copy, item->bytes, &taken);
  if (status != 0)
    return status;
  item->copy_version = taken.version;
  item->copy_bytes = taken.bytes;
  return 0;
}

static int read_copy(struct ses_share_item *item, char *buffer, size_t room, struct taken *taken) {
  bool enough;
  if (!item->remote && !ses_share_item_lives(item))
    return EBADF;
  int status = is_copy_enough(item, &enough);
  if (status == 0 && !enough)
    status = renew_copy(item);
  if (status != 0)
    return status;
  *taken = (struct taken){.version = item->copy_version, .bytes = item->copy_bytes};
  if (taken->bytes > room)
    return EMSGSIZE;
  memcpy(buffer, item->copy, taken->bytes);
  return 0;
}

int ses_share_get(ses_share_item *item, void *buffer, size_t room, size_t *bytes,
                  uint64_t *version) {
  struct taken taken = {0};
  int status;
  if (item->model == SES_SHARE_STRICT && !item->remote)
    status = read_strictly(item, buffer, room, &taken);
  else if (item->model == SES_SHARE_DELTA || item->model == SES_SHARE_NULL)
    status = read_copy(item, buffer, room, &taken);
  else
    status = read_newest(item, buffer, room, &taken);
  if (status == 0 && item->model == SES_SHARE_TEMPORAL) {
    uint64_t now = ses_now_ns();
    status = now > taken.put_ns && now - taken.put_ns > item->age_ns ? ETIME : 0;
  }
  if (bytes)
    *bytes = taken.bytes;
  if (version)
    *version = taken.version;
  return status;
}

static int read_kept(const struct ses_share_item *item, uint64_t version, char *buffer, size_t room,
                     struct taken *taken) {
  uint64_t last = atomic_load_explicit(&item->record->last, memory_order_acquire);
  if (!ses_share_item_lives(item))
    return EBADF;
  if (version == 0 || version > last)
    return ENOENT;
  if (last - version >= item->slots - 1) /* it may lie in the slot of the next put */
    return ESTALE;
  return read_version(item, version, buffer, room, taken);
}

int ses_share_copy(ses_share_item *item, uint64_t version, void *buffer, size_t room,
                   size_t *bytes) {
  struct taken taken = {0};
  int status = item->remote ? remote_read(item, SES_REMOTE_COPY, version, buffer, room, &taken)
                            : read_kept(item, version, buffer, room, &taken);
  if (bytes)
    *bytes = taken.bytes;
  return status;
}

void ses_share_refresh(ses_share_item *item) { item->copy_version = 0; }

/* ------------------------------------------------------------------------ put */

/* `writing` of the record is held. */
static uint64_t write_next(const struct ses_share_item *item, const char *value, size_t bytes,
                           uint64_t now) {
  struct ses_share_record *record = item->record;
  uint64_t version = atomic_load_explicit(&record->last, memory_order_relaxed) + 1;
  struct ses_share_slot *slot = ses_share_slot_of(item, version);
  atomic_store_explicit(&slot->stamp, 0, memory_order_relaxed);
  atomic_thread_fence(memory_order_release);
  atomic_store_explicit(&slot->bytes, bytes, memory_order_relaxed);
  atomic_store_explicit(&slot->put_ns, now, memory_order_relaxed);
  write_words(slot->words, value, bytes);
  atomic_store_explicit(&slot->stamp, version, memory_order_release);
  atomic_store_explicit(&record->last, version, memory_order_release);
  return version;
}

static void tell_waiting(struct ses_share_record *record) {
  atomic_thread_fence(memory_order_seq_cst);
  if (atomic_load_explicit(&record->awaited, memory_order_relaxed) == 0)
    return;
  atomic_store_explicit(&record->awaited, 0, memory_order_relaxed);
  atomic_fetch_add_explicit(&record->arrivals, 1, memory_order_release);
  ses_lock_wake(&record->arrivals, INT32_MAX);
}

static int put_value(ses_share_item *item, const void *value, size_t bytes, uint64_t now,
                     uint64_t *version) {
  int status = ses_lock_take(&item->record->writing, now + item->share->patience_ns);
  if (status == ETIMEDOUT)
    return status;
  bool lives = ses_share_item_lives(item);
  if (lives) {
    uint64_t put = write_next(item, value, bytes, now);
    if (version)
      *version = put;
  }
  ses_lock_give(&item->record->writing);
  if (lives)
    tell_waiting(item->record);
  return lives ? 0 : EBADF;
}

int ses_share_put(ses_share_item *item, const void *value, size_t bytes, uint64_t *version) {
  if (!item->share->writable)
    return EACCES;
  if (bytes > item->bytes)
    return EMSGSIZE;
  if (item->remote) {
    struct ses_remote_call call = {.asked.bytes = bytes, .value = value};
    int status = ses_share_ask(item, SES_REMOTE_PUT, &call);
    if (status == 0 && version)
      *version = call.came.version;
    return status;
  }
  bool asks = item->model == SES_SHARE_STRICT || item->model == SES_SHARE_WRITE;
  bool takes = asks && !ses_lock_is_own(&item->record->held);
  int status = takes ? ses_share_lock(item) : 0;
  if (status != 0 && status != EOWNERDEAD)
    return status;
  status = put_value(item, value, bytes, ses_now_ns(), version);
  if (takes)
    ses_share_unlock(item);
  return status;
}

/* ----------------------------------------------------------- waiting and locks */

int ses_share_await(ses_share_item *item, uint64_t version) {
  struct ses_share_record *record = item->record;
  if (item->remote)
    return ses_share_ask(item, SES_REMOTE_AWAIT,
                         &(struct ses_remote_call){.asked.version = version});
  uint64_t deadline = deadline_of(item), ns = MIN_PAUSE_NS;
  for (;;) {
    uint32_t arrivals = atomic_load_explicit(&record->arrivals, memory_order_acquire);
    if (item->share->writable)
      atomic_store_explicit(&record->awaited, 1, memory_order_relaxed);
    atomic_thread_fence(memory_order_seq_cst);
    if (!ses_share_item_lives(item))
      return EBADF;
    if (atomic_load_explicit(&record->last, memory_order_acquire) > version)
      return 0;
    uint64_t now = ses_now_ns();
    if (now >= deadline)
      return ETIMEDOUT;
    if (item->share->writable)
      ses_lock_sleep(&record->arrivals, arrivals,
                     deadline - now < LOOK_NS ? deadline - now : LOOK_NS);
    else
      back_off(&ns);
  }
}

int ses_share_lock(ses_share_item *item) {
  if (item->remote)
    return ses_share_ask(item, SES_REMOTE_LOCK, &(struct ses_remote_call){0});
  if (!item->share->writable)
    return EACCES;
  int status = ses_lock_take(&item->record->held, deadline_of(item));
  if (status == ETIMEDOUT)
    return status;
  atomic_fetch_add_explicit(&item->record->holds, 1, memory_order_seq_cst);
  if (ses_share_item_lives(item))
    return status;
  ses_lock_give(&item->record->held);
  return EBADF;
}

int ses_share_unlock(ses_share_item *item) {
  if (item->remote)
    return ses_share_ask(item, SES_REMOTE_UNLOCK, &(struct ses_remote_call){0});
  return ses_lock_give(&item->record->held) ? 0 : EPERM;
}
