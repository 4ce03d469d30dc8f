/* Over how many rows one file is spread, and which; see ses/core.h. */
#include <stdbool.h>

#include "need.h"
#include "number.h"
#include "ses/core.h"
#include "share.h"

/* An element is idle while a newcomer would share it with less than half a stream. */
#define IDLE_SHARE (1.0 / 1.5)

struct limit {
  size_t count;
  enum ses_core_cause cause;
};

static void cap(struct limit *limit, size_t most, enum ses_core_cause cause) {
  if (most < 1)
    most = 1;
  if (most < limit->count)
    *limit = (struct limit){most, cause};
}

static double rate_of(uint32_t kind, const struct ses_core_offer *offer) {
  return kind == SES_CORE_CURRENT_READ    ? offer->read
         : kind == SES_CORE_AVERAGE_READ  ? offer->average_read
         : kind == SES_CORE_CURRENT_WRITE ? offer->write
                                          : offer->average_write;
}

/* What a stream gets of ROW beside so many stripes of its own file on the server. */
static struct ses_core_offer offer_with(const struct ses_core_query *query, size_t row,
                                        double stripes) {
  const struct ses_core_element *element = &query->elements[row];
  struct ses_core_offer offer;
  offer_of(element, claims_of(query, row), server_claims_of(query, row) + stripes, true, true,
           &offer);
  return offer;
}

/* How many accepted rows are idle; counts no further than ENOUGH. */
static size_t idle_rows(const struct ses_core_query *query, const struct ses_core_verdict *verdicts,
                        size_t enough) {
  size_t idle = 0;
  for (size_t row = 0; row < query->count && idle < enough; row++)
    if (verdicts[row].refusal == SES_CORE_ACCEPTED) {
      struct ses_core_offer offer = offer_with(query, row, 0.0);
      const struct ses_core_element *element = &query->elements[row];
      idle += offer.write > least(element->write_rate, element->server_rate) * IDLE_SHARE;
    }
  return idle;
}

static struct limit limit_of(const struct ses_core_query *query,
                             const struct ses_core_verdict *verdicts, size_t accepted) {
  const struct ses_core_policy *policy = query->policy;
  struct limit limit = {accepted, SES_CORE_BY_ELEMENTS};
  if (query->need->stripes > 0 && !policy->overrule_hints) {
    if (query->need->stripes <= limit.count)
      limit = (struct limit){query->need->stripes, SES_CORE_BY_HINT};
    return limit;
  }
  cap(&limit, policy->most_stripes, SES_CORE_BY_SITE);
  double held = query->need->bytes / policy->stripe_bytes;
  if (query->need->bytes >= 0 && held < (double)limit.count)
    cap(&limit, held >= 1 ? (size_t)held : 1, SES_CORE_BY_SIZE);
  if (limit.count > 1)
    cap(&limit, idle_rows(query, verdicts, 2 * limit.count) / 2, SES_CORE_BY_IDLE);
  return limit;
}

/* Move COUNT of the LEFT ordered rows in SCRATCH to ROWS: the first of each server, then the second
 * of each, and so on. */
static void take_round_robin(const struct ses_core_query *query, uint32_t *scratch, size_t left,
                             uint32_t *rows, size_t count) {
  size_t taken = 0;
  while (taken < count && left > 0) {
    size_t round = taken; /* rows from here on were taken in this round */
    size_t kept = 0;
    for (size_t i = 0; i < left && taken < count; i++) {
      uint32_t server = query->elements[scratch[i]].server;
      size_t same = round;
      while (same < taken && query->elements[rows[same]].server != server)
        same++;
      if (same == taken)
        rows[taken++] = scratch[i];
      else
        scratch[kept++] = scratch[i];
    }
    left = kept;
  }
}

/* The smallest number of the first COUNT rows whose shares add up to each rate asked for; one more
 * than there are when all of them do not. */
static size_t rows_for_rates(const struct ses_core_query *query, const uint32_t *rows,
                             size_t count) {
  const struct ses_core_need *need = query->need;
  double sums[SES_REQUIREMENTS_MAX] = {0};
  for (size_t taken = 1; taken <= count; taken++) {
    size_t row = rows[taken - 1];
    double stripes = 0.0; /* there already */
    for (size_t i = 0; i + 1 < taken && is_number(query->elements[row].server_rate); i++)
      stripes += query->elements[rows[i]].server == query->elements[row].server;
    struct ses_core_offer offer = offer_with(query, row, stripes);
    bool met = true;
    for (uint32_t i = 0; i < requirements_of(need); i++) {
      if (!is_rate(&need->requirements[i]))
        continue;
      double rate = rate_of(need->requirements[i].kind, &offer);
      sums[i] += is_number(rate) ? rate : 0.0;
      met = met && sums[i] >= need->requirements[i].bound;
    }
    if (met)
      return taken;
  }
  return count + 1;
}

size_t ses_core_stripe(const struct ses_core_query *query, const struct ses_core_verdict *verdicts,
                       uint32_t *scratch, uint32_t *rows, size_t most, enum ses_core_cause *cause) {
  size_t accepted = 0;
  for (size_t row = 0; row < query->count; row++)
    accepted += verdicts[row].refusal == SES_CORE_ACCEPTED;
  *cause = SES_CORE_BY_NOTHING;
  bool rates = asks_for_rates(query->need);
  bool decide = rates || query->need->bytes >= 0 || query->need->stripes > 0;
  if (accepted < 2 || most < 2 || !decide)
    return ses_core_rank(query, verdicts, rows, most < 1 ? 0 : 1);
  struct limit limit = limit_of(query, verdicts, accepted < most ? accepted : most);
  size_t count = limit.count;
  bool hinted = query->need->stripes > 0 && !query->policy->overrule_hints;
  bool counts_rates = rates && !hinted;
  ses_core_rank(query, verdicts, rows, 1);
  size_t needed = counts_rates && rows_for_rates(query, rows, 1) == 1 ? 1 : count + 1;
  if (needed > 1 && count > 1) { /* only then all rows must be put in order */
    take_round_robin(query, scratch, ses_core_rank(query, verdicts, scratch, query->count), rows,
                     count);
    needed = counts_rates ? rows_for_rates(query, rows, count) : count + 1;
  }
  if (needed <= count)
    limit = (struct limit){needed, SES_CORE_BY_RATE};
  else if (!rates && !hinted && (count == 1 || query->need->bytes < 0))
    limit = (struct limit){1, SES_CORE_BY_NOTHING};
  *cause = limit.cause;
  return limit.count;
}
