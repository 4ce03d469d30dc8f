#include "request.h"

#include <stdio.h>
#include <string.h>

#include "settings/require.h"

bool ses_request_take(struct ses_request *request, const char *text, char *why, size_t size) {
  struct ses_wire_requirement found[SES_REQUIRE_KINDS];
  const char *wrong = NULL;
  request->is_off = strcmp(text, "off") == 0;
  request->require[0] = '\0';
  if (request->is_off)
    return true;
  if (strlen(text) >= sizeof request->require) {
    snprintf(why, size, "is longer than %zu characters", sizeof request->require - 1);
    return false;
  }
  if (ses_require_parse(text, found, &wrong) < 0) {
    snprintf(why, size, SES_REQUIRE_WRONG, wrong);
    return false;
  }
  memcpy(request->require, text, strlen(text) + 1);
  return true;
}
