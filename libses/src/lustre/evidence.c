#include "lustre/evidence.h"

#include <string.h>

static bool is_listed(const struct ses_lov_choice *choice, uint32_t ost) {
  for (unsigned i = 0; i < choice->ost_count; i++)
    if (choice->osts[i] == ost)
      return true;
  return false;
}

static bool is_member(const struct ses_lov_members *members, uint32_t ost) {
  return ost / 64 < members->count && members->words[ost / 64] >> ost % 64 & 1;
}

static bool has_members(const struct ses_lov_members *members) {
  for (unsigned i = 0; i < members->count; i++)
    if (members->words[i])
      return true;
  return false;
}

static bool states(const struct ses_lov_component *component, const struct ses_lov_choice *choice,
                   const struct ses_lov_members *members) {
  if (choice->form == SES_LOV_POOL)
    return strcmp(component->pool, choice->pool) == 0 && has_members(members);
  return choice->form == SES_LOV_OFFSET && is_listed(choice, component->stripe_offset);
}

bool ses_lov_lies_as(const void *bytes, size_t size, const struct ses_lov_choice *choice,
                     const struct ses_lov_members *members, struct ses_lov_work *work) {
  struct ses_lov_component *component = &work->component;
  if (ses_lov_read(&work->lov, bytes, size) != 0)
    return false;
  for (unsigned i = 0; ses_lov_component(&work->lov, i, component); i++) {
    if (i > 0 && component->start == 0) /* the second mirror */
      return false;
    if (!ses_lov_holds_data_on_osts(component))
      continue;
    if (component->objects == 0)
      return states(component, choice, members);
    for (unsigned j = 0; j < component->objects; j++) {
      uint32_t ost = ses_lov_ost(component, j);
      if (!(choice->form == SES_LOV_POOL ? is_member(members, ost) : is_listed(choice, ost)))
        return false;
    }
    return true;
  }
  return false;
}
