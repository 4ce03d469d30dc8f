/* What the requirements of a file ask for. */
#ifndef SES_CORE_NEED_H
#define SES_CORE_NEED_H

#include <stdbool.h>

#include "number.h"
#include "ses/core.h"

/* A need that says it has more than there is space for has so many. */
static inline uint32_t requirements_of(const struct ses_core_need *need) {
  return need->count < SES_REQUIREMENTS_MAX ? need->count : SES_REQUIREMENTS_MAX;
}

static inline bool is_rate(const struct ses_core_requirement *requirement) {
  return requirement->kind >= SES_CORE_CURRENT_READ &&
         requirement->kind <= SES_CORE_AVERAGE_WRITE && !requirement->at_most;
}

static inline bool is_rate_of_reading(const struct ses_core_requirement *requirement) {
  return is_rate(requirement) && requirement->kind <= SES_CORE_AVERAGE_READ;
}

/* The largest rate of writing that is asked for; 0: none. */
static inline double writing_asked(const struct ses_core_need *need) {
  double most = 0.0;
  for (uint32_t i = 0; i < requirements_of(need); i++) {
    const struct ses_core_requirement *requirement = &need->requirements[i];
    if (is_rate(requirement) && !is_rate_of_reading(requirement))
      most = larger(requirement->bound, most);
  }
  return most;
}

static inline bool is_average(const struct ses_core_requirement *requirement) {
  return requirement->kind == SES_CORE_AVERAGE_READ || requirement->kind == SES_CORE_AVERAGE_WRITE;
}

static inline bool asks_for_rates(const struct ses_core_need *need) {
  for (uint32_t i = 0; i < requirements_of(need); i++)
    if (is_rate(&need->requirements[i]))
      return true;
  return false;
}

#endif /* SES_CORE_NEED_H */
