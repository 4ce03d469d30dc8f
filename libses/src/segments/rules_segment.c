#include "segments/rules_segment.h"

#include "segments/public_segment.h"

static bool is_alive(const void *at) {
  const struct ses_rules *rules = at;
  return __atomic_load_n(&rules->state, __ATOMIC_ACQUIRE) == SES_TABLE_ALIVE;
}

static bool is_sound(const void *at, uint64_t socket_hash) {
  const struct ses_rules *rules = at;
  return rules->socket_hash == socket_hash && !rules->include[sizeof rules->include - 1] &&
         !rules->exclude[sizeof rules->exclude - 1] && !rules->programs[sizeof rules->programs - 1];
}

static const struct ses_public_kind kind = {
    .head = SES_RULES_KIND, .number = SES_RULES_UID, .is_sound = is_sound, .is_alive = is_alive};
static struct ses_public_found found;

const struct ses_rules *ses_rules_segment(void) { return ses_public_segment(&kind, &found); }
