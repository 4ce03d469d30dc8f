/* What a job asks for by --storage, as SES_REQUIRE has it; and, behind a NUL, the offers a site
 * published and a pattern of paths. */
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "must.h"
#include "published.h"
#include "request.h"
#include "rules/pattern.h"
#include "ses/limits.h"
#include "settings/require.h"

static void offers(const char *text, const char *require) {
  char path[64], why[1024] = "";
  int file = memfd_create("offers", 0);
  snprintf(path, sizeof path, "/proc/self/fd/%d", file);
  MUST(write(file, text, strlen(text)) == (ssize_t)strlen(text));
  if (!ses_published_offer_exists(path, require, why, sizeof why))
    MUST(why[0] && memchr(why, '\0', sizeof why));
  close(file);
}

static void request(const char *text) {
  struct ses_request request;
  struct ses_wire_requirement requirements[SES_REQUIRE_KINDS];
  char why[120] = "", hard[200];
  const char *wrong = NULL;
  int count = ses_require_parse(text, requirements, &wrong);
  bool is_taken = ses_request_take(&request, text, why, sizeof why);
  MUST(count >= -1 && count <= (int)SES_REQUIRE_KINDS);
  MUST(count >= 0 || (wrong >= text && wrong <= text + strlen(text)));
  MUST(is_taken || why[0]);
  for (int i = 0; i < count; i++) {
    double most = requirements[i].kind == SES_KIND_FREE_CAPACITY ? SES_CAPACITY_MAX : SES_RATE_MAX;
    MUST(requirements[i].kind > 0 && requirements[i].kind <= SES_KIND_FREE_CAPACITY);
    MUST(requirements[i].minimum >= 0 && requirements[i].minimum <= most); /* a NaN is neither */
    MUST(requirements[i].weight > 0 && requirements[i].weight <= SES_WEIGHT_MAX);
  }
  if (is_taken && !request.is_off && ses_request_hard(&request, hard, sizeof hard))
    MUST(hard[0] && memchr(hard, '\0', sizeof hard));
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
  char *text = malloc(size + 2); /* exactly as long as it is */
  memcpy(text, data, size);
  text[size] = text[size + 1] = '\0';
  const char *second = text + strlen(text) + (strlen(text) < size);
  char *first = strdup(text);
  request(first);
  offers(second, first);
  if (strlen(first) < 256 && second[0] == '/') {
    (void)ses_pattern_needs_path(first);
    (void)ses_pattern_fits(first, second, strrchr(second, '/') + 1);
  }
  free(first);
  free(text);
  return 0;
}
