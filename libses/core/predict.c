/* What a stream that starts now would get; see ses/core.h for the formulas. */
#include <stdbool.h>

#include "number.h"
#include "ses/core.h"
#include "share.h"

void ses_core_defaults(struct ses_core_policy *policy) {
  *policy = (struct ses_core_policy){
      .saturation = 0.97,
      .saturated_others = 1.5,
      .unseen_others = 1.0,
      .equal_distance = 0.02,
      .equal_share = 0.40,
      .equal_others = 0.25,
      .kept_share = 0.4,
      .harm_weight = 0.5,
      .room_fraction = 0.05,
      .minimum_free = 4.0 * 1024 * 1024,
      .stripe_bytes = 256.0 * 1024 * 1024,
      .most_stripes = 8,
      .overrule_hints = 0,
  };
}

/* Streams of others when the element was in use for the part BUSY of the time, of OWN of ours. */
static double others_of(double busy, double queue, double own,
                        const struct ses_core_policy *policy) {
  double streams = busy >= policy->saturation ? policy->saturated_others : busy;
  if (is_number(queue))
    streams = larger(queue, busy);
  return larger(0.0, streams - own);
}

void ses_core_observe(struct ses_core_element *element, const struct ses_core_sample *sample,
                      const struct ses_core_policy *policy) {
  double busy = smaller(1.0, sample->busy);
  double average = is_number(sample->busy_average) ? smaller(1.0, sample->busy_average) : busy;
  element->busy = (float)busy;
  element->busy_average = (float)average;
  element->others = (float)others_of(busy, sample->queue, sample->own, policy);
  element->others_average = (float)others_of(average, not_a_number(), sample->own_average, policy);
}

void ses_core_unseen(struct ses_core_element *element, int some_seen,
                     const struct ses_core_policy *policy) {
  double others = some_seen ? policy->unseen_others : 0.0;
  element->busy = element->busy_average = (float)not_a_number();
  element->others = element->others_average = (float)others;
}

void ses_core_observe_all(struct ses_core_element *elements, const struct ses_core_sample *samples,
                          size_t count, const struct ses_core_policy *policy) {
  bool some_seen = false;
  for (size_t row = 0; row < count; row++)
    some_seen = some_seen || is_number(samples[row].busy);
  for (size_t row = 0; row < count; row++) {
    if (is_number(samples[row].busy))
      ses_core_observe(&elements[row], &samples[row], policy);
    else
      ses_core_unseen(&elements[row], some_seen, policy);
  }
}

void ses_core_predict(const struct ses_core_element *element, double claims,
                      struct ses_core_offer *offer) {
  offer_of(element, claims, claims, true, true, offer);
}

void ses_core_predict_all(const struct ses_core_query *query, struct ses_core_offer *offers) {
  for (size_t row = 0; row < query->count; row++) {
    const struct ses_core_element *element = &query->elements[row];
    offer_of(element, claims_of(query, row), server_claims_of(query, row), true, true,
             &offers[row]);
  }
}
