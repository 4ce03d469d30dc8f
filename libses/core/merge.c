/* What a file needs: what a program states itself, before what its user's requirements say. */
#include <stdbool.h>

#include "need.h"

static bool is_sensible(const struct ses_core_requirement *requirement) {
  return requirement->weight > 0 && requirement->weight <= SES_WEIGHT_MAX &&
         requirement->bound <= SES_BOUND_MAX &&
         (requirement->bound > 0 || (requirement->at_most && requirement->bound == 0));
}

static bool states(const struct ses_core_requirement *stated, uint32_t count, uint32_t kind) {
  for (uint32_t i = 0; i < count; i++)
    if (stated[i].kind == kind)
      return true;
  return false;
}

/* Its place; the number of requirements where all are hard. */
static uint32_t last_soft(const struct ses_core_need *need) {
  for (uint32_t i = need->count; i > 0; i--)
    if (!need->requirements[i - 1].hard)
      return i - 1;
  return need->count;
}

static void add(struct ses_core_need *need, const struct ses_core_requirement *requirement,
                uint32_t *stated) {
  uint32_t place = need->count;
  if (!is_sensible(requirement))
    return;
  if (place == SES_REQUIREMENTS_MAX && requirement->hard)
    place = last_soft(need);
  if (place == SES_REQUIREMENTS_MAX)
    return;
  if (place < *stated) { /* those that are stated stay together */
    --*stated;
    need->requirements[place] = need->requirements[*stated];
    place = *stated;
  }
  need->requirements[place] = *requirement;
  need->count += place == need->count;
}

uint32_t ses_core_merge(struct ses_core_need *need, const struct ses_core_requirement *stated,
                        uint32_t count, const struct ses_core_need *other) {
  need->bytes = other->bytes;
  need->room = other->room;
  need->stripes = other->stripes;
  need->count = 0;
  uint32_t kept = 0;
  for (uint32_t i = 0; i < count; i++)
    add(need, &stated[i], &kept);
  kept = need->count;
  for (uint32_t i = 0; i < requirements_of(other); i++)
    if (!states(stated, count, other->requirements[i].kind))
      add(need, &other->requirements[i], &kept);
  return kept;
}
