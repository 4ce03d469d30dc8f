#include "backends/answer.h"

#include <float.h>
#include <stddef.h>
#include <string.h>

#include "backends/backend.h"

static bool is_text(const char *text, size_t size) {
  const char *end = text + strnlen(text, size);
  if (end == text || end == text + size)
    return false;
  for (; text < end; text++)
    if ((unsigned char)*text < ' ' || *text == 0x7f)
      return false;
  return true;
}

bool ses_answer_is_placement(const struct ses_answer *answer) {
  return answer->placement_id != 0 && answer->distance >= 0 && answer->distance <= DBL_MAX &&
         is_text(answer->element, sizeof answer->element) && ses_backend_accepts(answer);
}
