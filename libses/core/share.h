/* What a stream that starts now would get; see ses_core_predict() in ses/core.h for the formulas.
 * Inline, so that who needs one rate alone does not pay for four. */
#ifndef SES_CORE_SHARE_H
#define SES_CORE_SHARE_H

#include <stdbool.h>

#include "number.h"
#include "ses/core.h"

static inline double claims_of(const struct ses_core_query *query, size_t row) {
  return query->claims ? query->claims[row] : 0.0;
}

/* Files placed on elements of the server of ROW that `server_streams` does not hold yet.  Looks at
 * all rows, unless the query knows, but only where the server has a limit. */
static inline double server_claims_of(const struct ses_core_query *query, size_t row) {
  const struct ses_core_element *element = &query->elements[row];
  double claims = 0.0;
  if (!query->claims || !is_number(element->server_rate))
    return claims;
  if (query->server_claims)
    return query->server_claims[row];
  for (size_t other = 0; other < query->count; other++)
    if (query->elements[other].server == element->server)
      claims += query->claims[other];
  return claims;
}

/* Bytes free beyond what is reserved; NaN where that is not known. */
static inline double room_of(const struct ses_core_element *element) {
  double known = is_number(element->free) ? element->free : element->size;
  return larger(0.0, known - larger(0.0, element->reserved));
}

/* SERVER_CLAIMS: those on all elements of the server.  READS, AVERAGES: whether these members of
 * the offer are wanted; else they are left as they are. */
static inline void offer_of(const struct ses_core_element *element, double claims,
                            double server_claims, bool reads, bool averages,
                            struct ses_core_offer *offer) {
  double ours = larger(0.0, element->own) + claims;
  double limit = not_a_number();
  if (is_number(element->server_rate))
    limit = element->server_rate / (element->server_streams + server_claims + 1.0);
  double part = 1.0 / (ours + element->others + 1.0);
  offer->write = least(element->write_rate * part, limit);
  if (reads)
    offer->read = least(element->read_rate * part, limit);
  if (averages) {
    part = 1.0 / (ours + element->others_average + 1.0);
    offer->average_write = least(element->write_rate * part, offer->write);
    if (reads)
      offer->average_read = least(element->read_rate * part, offer->read);
  }
  offer->free = room_of(element);
}

#endif /* SES_CORE_SHARE_H */
