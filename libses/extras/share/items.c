/*
 * Items: each a record of a region, and the room that its slots take in the heap.
 *
 * There is no list of free memory that a dying process could leave half changed: what is free is
 * what no record in use takes.  A record is in use from one atomic step, the last of an alloc.
 */
#include "items.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "names.h"
#include "records.h"
#include "remote/remote.h"
#include "system/clock.h"

#define NS 1e9
#define LONGEST_S 1e9 /* an age that never comes */

/* -------------------------------------------------------------------- finding */

static bool is_named(const struct ses_share_record *record, const char *name) {
  return (ses_share_generation_of(record) & 1) != 0 &&
         strncmp(record->name, name, SES_SHARE_NAME_MAX) == 0;
}

static int hand_out(const struct ses_share_item *opened, ses_share_item **item) {
  *item = malloc(sizeof **item);
  if (!*item)
    return ENOMEM;
  **item = *opened;
  return 0;
}

/* NAME (NULL: any) is that of the generation that is opened: since it was seen, the record may have
 * been freed and made again. */
static int open_record(ses_share *share, struct ses_share_record *record, const char *name,
                       ses_share_item *item) {
  *item = (ses_share_item){
      .share = share, .record = record, .generation = ses_share_generation_of(record)};
  bool sound = ses_share_read_record(share, record, item);
  bool named = !name || strncmp(record->name, name, SES_SHARE_NAME_MAX) == 0;
  if ((item->generation & 1) == 0 || !named || !ses_share_item_lives(item))
    return ENOENT;
  return sound ? 0 : EINVAL;
}

/* One of another node: what it is there, as this process has it. */
static int hand_out_remote(ses_share *share, uint32_t operation, const char *name,
                           const ses_share_kind *kind, ses_share_item **item) {
  struct ses_remote_call call = {.asked.operation = operation};
  strcpy(call.asked.name, name);
  if (kind)
    call.asked.kind = *kind;
  int status = ses_remote_ask(share->remote, &call, share->patience_ns);
  const ses_share_kind *is = &call.came.item_facts.kind;
  struct ses_share_item opened = {
      .share = share,
      .remote = share->remote,
      .remote_number = call.came.item,
      .bytes = is->bytes,
      .versions = is->versions,
      .age_ns = (uint64_t)(is->age_seconds * NS),
      .slots = is->keep + 1,
      .model = is->model,
  };
  if (status == 0)
    status = hand_out(&opened, item);
  if (status == 0)
    ses_remote_keep(share->remote);
  return status;
}

int ses_share_ask(const struct ses_share_item *item, uint32_t operation,
                  struct ses_remote_call *call) {
  call->asked.operation = operation;
  call->asked.item = item->remote_number;
  return ses_remote_ask(item->remote, call, item->share->patience_ns);
}

int ses_share_find(ses_share *share, const char *name, ses_share_item **item) {
  struct ses_share_item opened;
  if (!ses_share_is_name(name))
    return EINVAL;
  if (share->remote)
    return hand_out_remote(share, SES_REMOTE_FIND, name, NULL, item);
  for (uint32_t i = 0; i < share->items; i++)
    if (is_named(ses_share_record_of(share, i), name)) {
      int status = open_record(share, ses_share_record_of(share, i), name, &opened);
      return status != 0 ? status : hand_out(&opened, item);
    }
  return ENOENT;
}

/* --------------------------------------------------------- making and freeing */

static bool is_kind(const ses_share_kind *kind) {
  return kind && kind->bytes > 0 && kind->bytes <= SES_SHARE_BYTES_MAX &&
         kind->model <= SES_SHARE_NULL && kind->keep <= SES_SHARE_VERSIONS_MAX &&
         (kind->model == SES_SHARE_TEMPORAL ? kind->age_seconds > 0 : kind->age_seconds >= 0);
}

static uint32_t slots_of(const ses_share_kind *kind) { return (kind->keep ? kind->keep : 1) + 1; }

static void fill_in(struct ses_share *share, struct ses_share_record *record, const char *name,
                    const ses_share_kind *kind, uint64_t at) {
  double age = kind->age_seconds < LONGEST_S ? kind->age_seconds : LONGEST_S;
  uint32_t slots = slots_of(kind);
  record->at = at;
  record->bytes = kind->bytes;
  record->versions = kind->versions;
  record->age_ns = (uint64_t)(age * NS);
  record->model = kind->model;
  record->slots = slots;
  memset(record->name, 0, sizeof record->name);
  memcpy(record->name, name, strlen(name));
  atomic_store_explicit(&record->last, 0, memory_order_relaxed);
  atomic_store_explicit(&record->awaited, 0, memory_order_relaxed);
  atomic_store_explicit(&record->held.word, 0, memory_order_relaxed);
  for (uint32_t i = 0; i < slots; i++) {
    char *slot = share->at + at + i * ses_share_slot_bytes(kind->bytes);
    atomic_store_explicit(&((struct ses_share_slot *)slot)->stamp, 0, memory_order_relaxed);
  }
  atomic_fetch_add_explicit(&record->generation, 1, memory_order_release);
}

static int make(ses_share *share, const char *name, const ses_share_kind *kind,
                ses_share_item *item) {
  uint64_t at, largest;
  struct ses_share_record *unused = NULL;
  for (uint32_t i = share->items; i-- > 0;) {
    struct ses_share_record *record = ses_share_record_of(share, i);
    if (is_named(record, name))
      return EEXIST;
    if ((ses_share_generation_of(record) & 1) == 0)
      unused = record;
  }
  int status =
      ses_share_gap(share, slots_of(kind) * ses_share_slot_bytes(kind->bytes), &at, &largest);
  if (status != 0)
    return status;
  if (!unused || at == 0)
    return ENOSPC;
  fill_in(share, unused, name, kind, at);
  return open_record(share, unused, name, item);
}

int ses_share_alloc(ses_share *share, const char *name, const ses_share_kind *kind,
                    ses_share_item **item) {
  struct ses_share_item made;
  if (!ses_share_is_name(name) || !is_kind(kind))
    return EINVAL;
  if (share->remote)
    return hand_out_remote(share, SES_REMOTE_ALLOC, name, kind, item);
  if (!share->writable)
    return EACCES;
  struct ses_lock *making = &ses_share_head_of(share)->making;
  int status = ses_lock_take(making, ses_now_ns() + share->patience_ns);
  if (status == ETIMEDOUT) /* what a dead holder left half done is no record in use */
    return status;
  status = make(share, name, kind, &made);
  ses_lock_give(making);
  return status != 0 ? status : hand_out(&made, item);
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
  if (item->remote)
    ses_remote_drop(item->remote);
  free(item->copy);
  free(item);
}

void ses_share_let_go(ses_share_item *item) {
  if (!item)
    return;
  if (item->remote)
    ses_remote_ask(item->remote,
                   &(struct ses_remote_call){.asked.operation = SES_REMOTE_LET_GO,
                                             .asked.item = item->remote_number},
                   0);
  forget(item);
}

/* No put is under way then: the room may be another item's at once. */
static int end(struct ses_share_item *item) {
  struct ses_share_record *record = item->record;
  uint64_t expected = item->generation;
  if (!item->share->writable)
    return EACCES;
  int status = ses_lock_take(&record->writing, ses_now_ns() + item->share->patience_ns);
  if (status == ETIMEDOUT)
    return status;
  bool freed = atomic_compare_exchange_strong(&record->generation, &expected, expected + 1);
  ses_lock_give(&record->writing);
  if (!freed)
    return EBADF;
  atomic_fetch_add(&record->arrivals, 1); /* who waits for a version sees that none comes */
  ses_lock_wake(&record->arrivals, INT32_MAX);
  return 0;
}

int ses_share_free(ses_share_item *item) {
  int status =
      item->remote ? ses_share_ask(item, SES_REMOTE_FREE, &(struct ses_remote_call){0}) : end(item);
  if (status == 0)
    forget(item);
  return status;
}

/* -------------------------------------------------------------------- looking */

int ses_share_version(ses_share_item *item, uint64_t *version, double *age_seconds) {
  if (item->remote) {
    struct ses_remote_call call = {0};
    int status = ses_share_ask(item, SES_REMOTE_VERSION_OF, &call);
    if (status == 0)
      *version = call.came.last;
    if (status == 0 && age_seconds)
      *age_seconds = call.came.age_seconds;
    return status;
  }
  uint64_t last = atomic_load_explicit(&item->record->last, memory_order_acquire);
  *version = last;
  if (age_seconds) {
    uint64_t put =
        atomic_load_explicit(&ses_share_slot_of(item, last)->put_ns, memory_order_relaxed);
    uint64_t now = ses_now_ns();
    *age_seconds = last != 0 && now > put ? (double)(now - put) / NS : 0;
  }
  return ses_share_item_lives(item) ? 0 : EBADF;
}

int ses_share_look(ses_share_item *item, ses_share_item_facts *facts) {
  const struct ses_share_record *record = item->record;
  struct ses_remote_call call = {0};
  if (item->remote) {
    int status = ses_share_ask(item, SES_REMOTE_LOOK, &call);
    *facts = call.came.item_facts;
    return status;
  }
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
  return status != 0 ? status : ses_share_is_name(facts->name) ? 0 : EBADF;
}

int ses_share_item_at(ses_share *share, uint32_t number, ses_share_item_facts *facts) {
  struct ses_remote_call call = {.asked.operation = SES_REMOTE_ITEM_AT, .asked.item = number};
  struct ses_share_item item;
  if (share->remote) {
    int status = ses_remote_ask(share->remote, &call, share->patience_ns);
    *facts = call.came.item_facts;
    return status;
  }
  if (number >= share->items)
    return EINVAL;
  bool is_one = open_record(share, ses_share_record_of(share, number), NULL, &item) == 0 &&
                ses_share_look(&item, facts) == 0;
  return is_one ? 0 : ENOENT;
}
