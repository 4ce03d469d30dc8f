#include "segments/table_segment.h"

#include "runtime/clock.h"
#include "segments/public_segment.h"

static bool is_alive(const void *at) {
  const struct ses_table_head *head = at;
  uint64_t heartbeat = __atomic_load_n(&head->heartbeat_ms, __ATOMIC_ACQUIRE);
  /* The clock read here may be a tick behind the one the heartbeat was taken from. */
  uint64_t age = ses_clock_ms() + SES_TABLE_STALE_MS - heartbeat;
  return __atomic_load_n(&head->state, __ATOMIC_ACQUIRE) == SES_TABLE_ALIVE &&
         age < 2 * (uint64_t)SES_TABLE_STALE_MS;
}

static bool is_sound(const void *at, uint64_t socket_hash) {
  return ((const struct ses_table_head *)at)->socket_hash == socket_hash;
}

static const struct ses_public_kind kind = {
    .head = SES_TABLE_KIND, .is_sound = is_sound, .is_alive = is_alive};
static struct ses_public_found found;

const struct ses_table *ses_table_segment(void) { return ses_public_segment(&kind, &found); }

bool ses_table_may_be(void) { return ses_public_may_be(&found); }
