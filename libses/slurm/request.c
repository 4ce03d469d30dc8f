#include "request.h"

#include <stdio.h>
#include <string.h>

#include "settings/require.h"
#include "settings/require_wrong.h"

bool ses_request_take(struct ses_request *request, const char *text, char *why, size_t size) {
  struct ses_wire_requirement requirements[SES_REQUIRE_KINDS];
  const char *wrong = NULL;
  request->is_off = strcmp(text, "off") == 0;
  request->require[0] = '\0';
  if (request->is_off)
    return true;
  if (strlen(text) >= sizeof request->require) {
    snprintf(why, size, "is longer than %zu characters", sizeof request->require - 1);
    return false;
  }
  if (ses_require_parse(text, requirements, &wrong) < 0) {
    ses_require_wrong(why, size, wrong);
    return false;
  }
  memcpy(request->require, text, strlen(text) + 1);
  return true;
}

bool ses_request_hard(const struct ses_request *request, char *text, size_t size) {
  static const char *const names[SES_KIND_FREE_CAPACITY + 1] = {
      [SES_KIND_CURRENT_WRITE_RATE] = "write",
      [SES_KIND_CURRENT_READ_RATE] = "read",
      [SES_KIND_FREE_CAPACITY] = "free",
  };
  struct ses_wire_requirement stated[SES_REQUIRE_KINDS];
  const char *wrong = NULL;
  int count = ses_require_parse(request->require, stated, &wrong);
  size_t length = 0;
  for (int i = 0; i < count && length < size; i++)
    if (stated[i].hard && names[stated[i].kind])
      length += (size_t)snprintf(text + length, size - length, "%s%s=%.6f", length ? " " : "",
                                 names[stated[i].kind], stated[i].minimum);
  return length > 0 && length < size;
}
