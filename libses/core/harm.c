#include "harm.h"

#include <stdbool.h>

#include "need.h"
#include "share.h"

#define HARD_BROKEN 100.0
/* What equals a promise keeps it. */
#define ROUNDED_UP (1.0 + 4 * __DBL_EPSILON__)
#define MAX_HARM 1000.0

/* CLAIMS on ROW and those on its server, by files that ask for writing at rate WRITING as this one.
 */
static double harm_on(const struct ses_core_query *query, size_t row, double claims,
                      double on_server, double writing) {
  const struct ses_core_element *element = &query->elements[row];
  bool claimed = claims > 0 && writing > 0;
  double promises = larger(element->promises, 0.0) + (claimed ? claims : 0.0);
  double promised = claimed ? larger(element->promised, writing) : element->promised;
  if (!(promises > 0 && promised > 0))
    return 0.0;
  double streams = larger(element->own, 0.0) + claims + element->foreign;
  double there = larger(streams, 1.0);
  double part = ROUNDED_UP / (there * (streams + 1.0));
  double before = element->write_rate * part * (streams + 1.0);
  double after = element->write_rate * part * there;
  if (is_number(element->server_rate)) {
    double all = element->server_streams + on_server;
    before = least(before, element->server_rate / larger(all, 1.0));
    after = least(after, element->server_rate / (all + 1.0));
  }
  if (!(after < promised || after < element->promised_hard))
    return 0.0;
  double parts = 1.0 / promised;
  double lost = shortfall(after * parts) - shortfall(before * parts);
  double harm = query->policy->harm_weight * promises * lost;
  if (after < element->promised_hard && before >= element->promised_hard)
    harm += HARD_BROKEN;
  return smaller(larger(harm, 0.0), MAX_HARM);
}

void ses_core_find_harm(const struct ses_core_query *query, struct ses_core_verdict *verdicts) {
  bool any = false, weighs = query->policy->harm_weight > 0;
  for (size_t row = 0; row < query->count && query->claims; row++)
    any |= query->claims[row] != 0;
  double writing = any ? writing_asked(query->need) : 0.0;
  for (size_t row = 0; row < query->count; row++) {
    double claims = any ? query->claims[row] : 0.0;
    verdicts[row].harm = 0.0F;
    const struct ses_core_element *element = &query->elements[row];
    if (weighs ? element->promises > 0 || claims > 0 : element->promised_hard > 0) {
      double on_server = any ? server_claims_of(query, row) : 0.0;
      verdicts[row].harm = (float)harm_on(query, row, claims, on_server, writing);
    }
  }
}
