#include "request/need.h"

#include <stddef.h>

#include "settings/settings.h"

const char *ses_application_of(const struct ses_need *need) {
  return need && need->application ? need->application : ses_settings()->application;
}

unsigned ses_requirements_of(const struct ses_need *need,
                             const struct ses_wire_requirement **requirements) {
  unsigned count = need ? need->requirement_count : 0;
  *requirements = count ? need->requirements : ses_settings()->require;
  if (count == 0)
    return ses_settings()->require_count;
  return count < SES_REQUIREMENTS_MAX ? count : SES_REQUIREMENTS_MAX;
}
