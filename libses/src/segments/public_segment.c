#include "segments/public_segment.h"

#include "runtime/clock.h"
#include "runtime/sys.h"
#include "settings/settings.h"

#define PAUSE_MS 1000u
#define MOST_ATTACHED 64u /* by one process: agents that came one after the other */

static bool is_known(const struct ses_public_found *found, int id) {
  return atomic_load_explicit(&found->in_force, memory_order_acquire) &&
         atomic_load_explicit(&found->id, memory_order_relaxed) == id;
}

static const void *attach(const struct ses_public_kind *kind, struct ses_public_found *found,
                          uint32_t user) {
  struct ses_segment_rule rule = ses_segment_published(user, true, kind->head.size);
  uint64_t socket_hash = ses_segment_hash(ses_settings()->agent.sun_path);
  struct ses_segment_facts facts;
  void *at;
  int id = ses_segment_find(ses_segment_key(socket_hash, kind->number));
  if (id < 0 || is_known(found, id) ||
      atomic_load_explicit(&found->attached, memory_order_relaxed) >= MOST_ATTACHED ||
      ses_segment_attach(id, &rule, false, &facts, &at) != 0)
    return NULL;
  if (!ses_segment_is(at, &kind->head) || !kind->is_sound(at, socket_hash) || !kind->is_alive(at)) {
    ses_segment_detach(at);
    return NULL;
  }
  atomic_fetch_add_explicit(&found->attached, 1, memory_order_relaxed);
  atomic_store_explicit(&found->maker, facts.maker, memory_order_relaxed);
  atomic_store_explicit(&found->id, id, memory_order_relaxed);
  atomic_store_explicit(&found->in_force, at, memory_order_release);
  return at;
}

const void *ses_public_segment(const struct ses_public_kind *kind, struct ses_public_found *found) {
  const void *at = atomic_load_explicit(&found->in_force, memory_order_acquire);
  if (at && kind->is_alive(at)) {
    uint32_t by = atomic_load_explicit(&found->maker, memory_order_relaxed);
    return by == 0 || by == (uint32_t)ses_sys0(SYS_geteuid) ? at : NULL;
  }
  uint64_t next = atomic_load_explicit(&found->next_try_ms, memory_order_relaxed);
  uint64_t now = ses_clock_ms();
  if (now < next ||
      !atomic_compare_exchange_strong_explicit(&found->next_try_ms, &next, now + PAUSE_MS,
                                               memory_order_relaxed, memory_order_relaxed))
    return NULL;
  return attach(kind, found, (uint32_t)ses_sys0(SYS_geteuid));
}

bool ses_public_may_be(const struct ses_public_found *found) {
  return atomic_load_explicit(&found->in_force, memory_order_relaxed) ||
         ses_clock_ms() >= atomic_load_explicit(&found->next_try_ms, memory_order_relaxed);
}
