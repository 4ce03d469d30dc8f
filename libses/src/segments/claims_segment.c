#include "segments/claims_segment.h"

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>

#include "runtime/clock.h"
#include "runtime/sys.h"
#include "ses/segment.h"

#define SEGMENTS 8u
#define PAUSE_MS 1000u

/* Taken by who sets `user`; in use from when `claims` is set, which is never detached. */
static struct {
  _Atomic uint64_t user; /* the effective user plus one; 0: free */
  _Atomic int id;
  _Atomic(struct ses_claims *) claims;
} segments[SEGMENTS];

static _Atomic uint64_t next_try_ms;

/* Everything in a segment may change under the reader, so each word is read once. */
static uint32_t word(const uint32_t *at) { return __atomic_load_n(at, __ATOMIC_ACQUIRE); }

static bool is_claims(const struct ses_claims *claims, uint32_t user) {
  static const struct ses_segment_head kind = SES_CLAIMS_KIND;
  return ses_segment_is(claims, &kind) && claims->head.uid == user;
}

/* Take place I for USER: it is free, or has what an agent that is gone left of the same user.  Who
 * still reads that sees that it is retired, whatever number it has found beside it. */
static bool take_place(unsigned i, uint32_t user) {
  uint64_t owner = 0;
  if (atomic_compare_exchange_strong_explicit(&segments[i].user, &owner, (uint64_t)user + 1,
                                              memory_order_relaxed, memory_order_relaxed))
    return true;
  struct ses_claims *former = atomic_load_explicit(&segments[i].claims, memory_order_acquire);
  return owner == (uint64_t)user + 1 && former && word(&former->head.state) == SES_TABLE_RETIRED &&
         atomic_compare_exchange_strong_explicit(&segments[i].claims, &former, NULL,
                                                 memory_order_relaxed, memory_order_relaxed);
}

static struct ses_claims *remember(struct ses_claims *claims, int id, uint32_t user) {
  for (unsigned i = 0; i < SEGMENTS; i++) {
    if (!take_place(i, user))
      continue;
    atomic_store_explicit(&segments[i].id, id, memory_order_relaxed);
    atomic_store_explicit(&segments[i].claims, claims, memory_order_release);
    return claims;
  }
  return NULL;
}

static struct ses_claims *attach(int id, uint32_t user) {
  struct ses_segment_rule rule = ses_segment_given(user, true, user, sizeof(struct ses_claims));
  struct ses_segment_facts facts;
  void *at;
  if (ses_segment_attach(id, &rule, true, &facts, &at) != 0)
    return NULL;
  struct ses_claims *claims = at;
  if (is_claims(claims, user) && remember(claims, id, user))
    return claims;
  ses_segment_detach(at);
  return NULL;
}

/* The table's entry of USER; NULL: none.  Looks first where the last user of this process was
 * found. */
static const struct ses_table_user *row_of(const struct ses_table *table, uint32_t user) {
  static _Atomic unsigned last;
  unsigned at = atomic_load_explicit(&last, memory_order_relaxed) % SES_TABLE_USERS;
  uint32_t count = word(&table->head.users);
  if (count > SES_TABLE_USERS)
    count = SES_TABLE_USERS;
  if (at >= count || word(&table->users[at].uid) != user)
    for (at = 0; at < count && word(&table->users[at].uid) != user;)
      at++;
  if (at >= count)
    return NULL;
  atomic_store_explicit(&last, at, memory_order_relaxed);
  return &table->users[at];
}

/* The one that is attached under this number; NULL: none is. */
static struct ses_claims *attached(int id, uint32_t user) {
  for (unsigned i = 0; i < SEGMENTS; i++) {
    uint64_t owner = atomic_load_explicit(&segments[i].user, memory_order_relaxed);
    struct ses_claims *claims = atomic_load_explicit(&segments[i].claims, memory_order_acquire);
    if (owner == 0)
      break;
    if (owner == (uint64_t)user + 1 && claims &&
        atomic_load_explicit(&segments[i].id, memory_order_relaxed) == id)
      return claims;
  }
  return NULL;
}

bool ses_claims_segment(const struct ses_table *table, struct ses_claims_of *of) {
  /* Asked each time: a thread may have become another user, whose files are not to be made by what
   * the former one can write. */
  of->user = (uint32_t)ses_sys0(SYS_geteuid);
  const struct ses_table_user *row = row_of(table, of->user);
  int id = row ? __atomic_load_n(&row->segment, __ATOMIC_ACQUIRE) : -1;
  if (id < 0)
    return false;
  of->instance = __atomic_load_n(&row->instance, __ATOMIC_ACQUIRE);
  of->claims = attached(id, of->user);
  if (!of->claims)
    of->claims = ses_clock_is_turn(&next_try_ms, PAUSE_MS) ? attach(id, of->user) : NULL;
  return of->claims && word(&of->claims->head.state) == SES_TABLE_ALIVE &&
         __atomic_load_n(&of->claims->head.instance, __ATOMIC_ACQUIRE) == of->instance;
}
