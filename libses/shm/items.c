/*
 * Items: the records of a region, and the room that their slots take in its heap.
 *
 * There is no list of free memory that a dying process could leave half changed: what is free is
 * what no record in use takes.  A record is in use from one atomic step, the last of an alloc.
 */
#include "items.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "far/far.h"
#include "system/clock.h"

#define NS 1e9
#define LONGEST_S 1e9 /* an age that never comes */

struct extent {
  uint64_t from;
  uint64_t to;
};

static uint64_t generation_of(const struct ses_share_record *record) {
  return atomic_load_explicit(&record->generation, memory_order_acquire);
}

/* Where the slots of a record lie; false: no region of this library has such numbers. */
static bool bounds(const struct ses_share *share, const struct ses_share_record *record,
                   struct extent *extent) {
  uint64_t at = record->at, bytes = record->bytes, slots = record->slots;
  if (bytes == 0 || bytes > share->bytes || slots < 2 || slots > SES_SHARE_VERSIONS_MAX + 1)
    return false;
  uint64_t all = slots * ses_share_slot_bytes(bytes);
  if (at < share->heap || at % SES_SHARE_LINE != 0 || at > share->bytes || all > share->bytes - at)
    return false;
  *extent = (struct extent){at, at + all};
  return true;
}

static int by_start(const void *one, const void *other) {
  uint64_t a = ((const struct extent *)one)->from, b = ((const struct extent *)other)->from;
  return (a > b) - (a < b);
}

uint64_t ses_share_gap(const struct ses_share *share, uint64_t wanted, uint64_t *at) {
  struct extent *taken = malloc((share->items + 1) * sizeof *taken);
  uint64_t from = share->heap, largest = 0;
  uint32_t count = 0;
  *at = 0;
  if (!taken)
    return 0;
  for (uint32_t i = 0; i < share->items; i++) {
    const struct ses_share_record *record = ses_share_record_of(share, i);
    if ((generation_of(record) & 1) != 0 && bounds(share, record, &taken[count]))
      count++;
  }
  qsort(taken, count, sizeof *taken, by_start);
  taken[count] = (struct extent){share->bytes, share->bytes};
  for (uint32_t i = 0; i <= count; i++) {
    uint64_t gap = taken[i].from > from ? taken[i].from - from : 0;
    if (gap > largest)
      largest = gap;
    if (gap >= wanted && *at == 0)
      *at = from;
    if (taken[i].to > from)
      from = taken[i].to;
  }
  free(taken);
  return largest;
}

/* -------------------------------------------------------------------- finding */

static bool is_named(const struct ses_share_record *record, const char *name) {
  return (generation_of(record) & 1) != 0 && strncmp(record->name, name, SES_SHARE_NAME_MAX) == 0;
}

static int hand_out(ses_share *share, struct ses_share_record *record, ses_share_item **item) {
  struct extent extent;
  uint64_t generation = generation_of(record);
  if ((generation & 1) == 0)
    return ENOENT;
  ses_share_item *made = calloc(1, sizeof *made);
  if (!made)
    return ENOMEM;
  bool sound = bounds(share, record, &extent);
  *made = (ses_share_item){
      .share = share,
      .record = record,
      .generation = generation,
      .at = extent.from,
      .bytes = record->bytes,
      .versions = record->versions,
      .age_ns = record->age_ns,
      .slots = record->slots,
      .model = record->model,
  };
  made->slot_bytes = ses_share_slot_bytes(made->bytes);
  if (!sound || made->model > SES_SHARE_NULL ||
      extent.to - extent.from != made->slots * made->slot_bytes || !ses_share_item_lives(made)) {
    free(made);
    return sound ? ENOENT : EINVAL;
  }
  *item = made;
  return 0;
}

/* One of another node: what it is there, as this process has it. */
static int hand_out_far(ses_share *share, uint32_t operation, const char *name,
                        const ses_share_kind *kind, ses_share_item **item) {
  ses_share_item_facts facts;
  uint32_t number;
  int status = ses_far_item(share->far, operation, name, kind, &number, &facts, share->patience_ns);
  if (status != 0)
    return status;
  ses_share_item *made = calloc(1, sizeof *made);
  if (!made)
    return ENOMEM;
  *made = (ses_share_item){
      .share = share,
      .far = ses_far_keep(share->far),
      .far_number = number,
      .bytes = facts.kind.bytes,
      .versions = facts.kind.versions,
      .age_ns = (uint64_t)(facts.kind.age_seconds * NS),
      .slots = facts.kind.keep + 1,
      .model = facts.kind.model,
  };
  *item = made;
  return 0;
}

int ses_share_find(ses_share *share, const char *name, ses_share_item **item) {
  if (!ses_share_is_name(name))
    return EINVAL;
  if (share->far)
    return hand_out_far(share, SES_FAR_FIND, name, NULL, item);
  for (uint32_t i = 0; i < share->items; i++)
    if (is_named(ses_share_record_of(share, i), name))
      return hand_out(share, ses_share_record_of(share, i), item);
  return ENOENT;
}

/* --------------------------------------------------------- making and freeing */

static int is_kind(const ses_share_kind *kind) {
  bool fits = kind && kind->bytes > 0 && kind->bytes <= SES_SHARE_BYTES_MAX &&
              kind->model <= SES_SHARE_NULL && kind->keep <= SES_SHARE_VERSIONS_MAX &&
              !isnan(kind->age_seconds) && kind->age_seconds >= 0;
  if (fits && kind->model == SES_SHARE_TEMPORAL)
    fits = kind->age_seconds > 0;
  return fits ? 0 : EINVAL;
}

static void fill_in(struct ses_share *share, struct ses_share_record *record, const char *name,
                    const ses_share_kind *kind, uint64_t at) {
  double age = kind->age_seconds < LONGEST_S ? kind->age_seconds : LONGEST_S;
  record->at = at;
  record->bytes = kind->bytes;
  record->versions = kind->versions;
  record->age_ns = (uint64_t)(age * NS);
  record->model = kind->model;
  record->slots = (kind->keep ? kind->keep : 1) + 1;
  memset(record->name, 0, sizeof record->name);
  memcpy(record->name, name, strlen(name));
  atomic_store_explicit(&record->last, 0, memory_order_relaxed);
  atomic_store_explicit(&record->awaited, 0, memory_order_relaxed);
  atomic_store_explicit(&record->writing.word, 0, memory_order_relaxed);
  atomic_store_explicit(&record->held.word, 0, memory_order_relaxed);
  for (uint32_t i = 0; i < record->slots; i++) {
    char *slot = share->at + at + i * ses_share_slot_bytes(kind->bytes);
    atomic_store_explicit(&((struct ses_share_slot *)slot)->stamp, 0, memory_order_relaxed);
  }
  atomic_fetch_add_explicit(&record->generation, 1, memory_order_release);
}

static int make(ses_share *share, const char *name, const ses_share_kind *kind,
                struct ses_share_record **made) {
  uint64_t at;
  uint64_t wanted = ((kind->keep ? kind->keep : 1) + 1) * ses_share_slot_bytes(kind->bytes);
  struct ses_share_record *unused = NULL;
  for (uint32_t i = share->items; i-- > 0;) {
    struct ses_share_record *record = ses_share_record_of(share, i);
    if (is_named(record, name))
      return EEXIST;
    if ((generation_of(record) & 1) == 0)
      unused = record;
  }
  ses_share_gap(share, wanted, &at);
  if (!unused || at == 0)
    return ENOSPC;
  fill_in(share, unused, name, kind, at);
  *made = unused;
  return 0;
}

static int enter(struct ses_share *share) {
  if (!share->writable)
    return EACCES;
  int status = ses_lock_take(&ses_share_head_of(share)->making, share->self,
                             ses_now_ns() + share->patience_ns);
  return status == EOWNERDEAD ? 0 : status; /* what a dead one left half done is no record in use */
}

static void leave(struct ses_share *share) {
  ses_lock_give(&ses_share_head_of(share)->making, share->self);
}

int ses_share_alloc(ses_share *share, const char *name, const ses_share_kind *kind,
                    ses_share_item **item) {
  struct ses_share_record *record = NULL;
  if (!ses_share_is_name(name) || is_kind(kind) != 0)
    return EINVAL;
  if (share->far)
    return hand_out_far(share, SES_FAR_ALLOC, name, kind, item);
  int status = enter(share);
  if (status != 0)
    return status;
  status = make(share, name, kind, &record);
  if (status == 0)
    status = hand_out(share, record, item);
  leave(share);
  return status;
}

int ses_share_have(ses_share *share, const char *name, const ses_share_kind *kind,
                   ses_share_item **item) {
  for (;;) {
    int status = ses_share_find(share, name, item);
    if (status != ENOENT)
      return status;
    status = ses_share_alloc(share, name, kind, item);
    if (status != EEXIST)
      return status;
  }
}

static void forget(ses_share_item *item) {
  if (item->far)
    ses_far_drop(item->far);
  free(item->copy);
  free(item);
}

void ses_share_let_go(ses_share_item *item) {
  struct ses_far_reply reply;
  if (!item)
    return;
  if (item->far)
    ses_far_do(item->far, SES_FAR_LET_GO, item->far_number, 0, &reply, 0);
  forget(item);
}

int ses_share_free(ses_share_item *item) {
  struct ses_far_reply reply;
  if (item->far) {
    int status =
        ses_far_do(item->far, SES_FAR_FREE, item->far_number, 0, &reply, item->share->patience_ns);
    if (status == 0)
      forget(item);
    return status;
  }
  int status = enter(item->share);
  if (status != 0)
    return status;
  uint64_t expected = item->generation;
  bool freed = atomic_compare_exchange_strong(&item->record->generation, &expected, expected + 1);
  leave(item->share);
  if (!freed)
    return EBADF;
  atomic_fetch_add(&item->record->arrivals, 1); /* who waits for a version sees that none comes */
  ses_lock_wake(&item->record->arrivals, INT32_MAX);
  forget(item);
  return 0;
}

/* -------------------------------------------------------------------- looking */

int ses_share_look(ses_share_item *item, ses_share_item_facts *facts) {
  const struct ses_share_record *record = item->record;
  if (item->far)
    return ses_far_look(item->far, SES_FAR_LOOK, item->far_number, facts, item->share->patience_ns);
  memset(facts, 0, sizeof *facts);
  memcpy(facts->name, record->name, sizeof facts->name - 1);
  facts->kind.bytes = item->bytes;
  facts->kind.model = item->model;
  facts->kind.keep = item->slots - 1;
  facts->kind.versions = item->versions;
  facts->kind.age_seconds = (double)item->age_ns / NS;
  facts->holder = ses_lock_holder(&record->held);
  int status = ses_share_version(item, &facts->version, &facts->age_seconds);
  if (facts->version != 0)
    facts->value_bytes =
        atomic_load_explicit(&ses_share_slot_of(item, facts->version)->bytes, memory_order_relaxed);
  return status;
}

int ses_share_item_at(ses_share *share, uint32_t number, ses_share_item_facts *facts) {
  ses_share_item *item;
  if (share->far)
    return ses_far_look(share->far, SES_FAR_ITEM_AT, number, facts, share->patience_ns);
  if (number >= share->items)
    return EINVAL;
  int status = hand_out(share, ses_share_record_of(share, number), &item);
  if (status != 0)
    return status == EINVAL ? ENOENT : status;
  status = ses_share_look(item, facts);
  ses_share_let_go(item);
  return status == EBADF ? ENOENT : status;
}
