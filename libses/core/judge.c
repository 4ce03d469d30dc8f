/* Which elements can take a file, and how far each falls short of what it needs; see ses/core.h. */
#include <stdbool.h>

#include "need.h"
#include "number.h"
#include "ses/core.h"
#include "share.h"

/* One requirement, as far as it is the same for every row. */
struct part {
  double inverse; /* 1 / bound, rounded up: what equals the bound meets it */
  double weight;  /* of all weights together */
  uint32_t kind;
  uint8_t place; /* in the need */
  bool hard;
  bool at_most;
  bool rate; /* of which more than enough is plenty */
};

/* What is the same for every row, found once per query. */
struct asked {
  bool plenty;        /* some rate may be met so often that more is no better */
  bool reads;         /* the rate of reading counts in the share */
  bool predict_reads; /* it does, or is compared with a bound */
  bool averages;
  uint32_t count;
  struct part parts[SES_CORE_REQUIREMENTS];
};

/* A minimum of 0 is met by everything, even by what is not known: it needs no part. */
static void ask(const struct ses_core_query *query, struct asked *asked) {
  const struct ses_core_need *need = query->need;
  double weights = 0;
  for (uint32_t i = 0; i < requirements_of(need); i++)
    weights += need->requirements[i].weight;
  asked->plenty = asks_for_rates(need) && query->policy->plenty > 0;
  asked->reads = asked->predict_reads = asked->averages = false;
  asked->count = 0;
  for (uint32_t i = 0; i < requirements_of(need); i++) {
    const struct ses_core_requirement *one = &need->requirements[i];
    if (is_rate_of_reading(one))
      asked->reads = asked->predict_reads = true;
    if (!one->at_most && !(one->bound > 0))
      continue;
    asked->predict_reads |= one->kind <= SES_CORE_AVERAGE_READ;
    asked->averages |= is_average(one);
    asked->parts[asked->count++] = (struct part){
        .inverse = 1.0 / one->bound * (1.0 + 4 * __DBL_EPSILON__),
        .weight = one->weight / weights,
        .kind = one->kind,
        .place = (uint8_t)i,
        .hard = one->hard != 0,
        .at_most = one->at_most != 0,
        .rate = is_rate(one),
    };
  }
}

static double value_of(uint32_t kind, const struct ses_core_element *element,
                       const struct ses_core_offer *offer) {
  switch (kind) {
  case SES_CORE_CURRENT_READ:
    return offer->read;
  case SES_CORE_AVERAGE_READ:
    return offer->average_read;
  case SES_CORE_CURRENT_WRITE:
    return offer->write;
  case SES_CORE_AVERAGE_WRITE:
    return offer->average_write;
  case SES_CORE_FREE:
    return offer->free;
  default:
    return kind >= SES_CORE_STATED_FIRST && kind < SES_CORE_STATED_FIRST + SES_CORE_STATED
               ? element->stated[kind - SES_CORE_STATED_FIRST]
               : not_a_number();
  }
}

/* s, 0..1, where MET is the part of the bound that is there; without a branch, since half of the
 * rows may go either way. */
static double shortfall(double met) {
  return larger(smaller(1.0 - met, 1.0), 0.0); /* 1 where MET is not known */
}

/* The same where BOUND is the most that is allowed. */
static double excess(double value, double bound) {
  return value <= bound ? 0.0 : shortfall(bound / value);
}

/* Bytes that must be free, beyond what is reserved; *TIGHT: below which there may be too little. */
static double room_needed(const struct ses_core_query *query,
                          const struct ses_core_element *element, double claims, double *tight) {
  const struct ses_core_need *need = query->need;
  double least_free = query->policy->minimum_free;
  if (need->bytes >= 0) {
    *tight = 0.0;
    return larger(least_free, need->bytes) + claims * need->bytes;
  }
  double room = larger(0.0, query->policy->room_fraction * element->size);
  if (need->room >= 0)
    room = larger(room, need->room);
  *tight = room * (claims + 1.0);
  return least_free;
}

static bool is_excluded(const struct ses_core_query *query, size_t row) {
  return query->excluded && (query->excluded[row / 64] >> (row % 64) & 1) != 0;
}

static uint8_t refusal_of(const struct ses_core_query *query, size_t row) {
  uint32_t state = query->elements[row].state;
  return is_excluded(query, row)        ? SES_CORE_REFUSED_EXCLUDED
         : (state & SES_CORE_INACTIVE)  ? SES_CORE_REFUSED_INACTIVE
         : (state & SES_CORE_READ_ONLY) ? SES_CORE_REFUSED_READ_ONLY
         : (state & SES_CORE_DRAINING)  ? SES_CORE_REFUSED_DRAINING
                                        : SES_CORE_ACCEPTED;
}

static void judge(const struct ses_core_query *query, const struct asked *asked, size_t row,
                  struct ses_core_verdict *verdict) {
  const struct ses_core_element *element = &query->elements[row];
  double claims = claims_of(query, row);
  double unknown = not_a_number();
  struct ses_core_offer offer = {unknown, unknown, unknown, unknown, unknown};
  offer_of(element, claims, query->policy, asked->predict_reads, asked->averages, &offer);
  double tight = 0.0;
  double room = room_needed(query, element, claims, &tight);
  uint8_t refusal = refusal_of(query, row);
  uint8_t unmet = 0;
  if (refusal == SES_CORE_ACCEPTED && offer.free < room)
    refusal = SES_CORE_REFUSED_NO_ROOM;
  bool plenty = asked->plenty;
  double squares = 0.0;
  for (uint32_t i = 0; i < asked->count; i++) {
    const struct part *one = &asked->parts[i];
    double value = value_of(one->kind, element, &offer);
    double met = value * one->inverse;
    double missing =
        one->at_most ? excess(value, query->need->requirements[one->place].bound) : shortfall(met);
    squares += one->weight * missing * missing;
    plenty &= !one->rate | (met >= query->policy->plenty);
    if (one->hard && missing > 0 && refusal == SES_CORE_ACCEPTED) {
      refusal = SES_CORE_REFUSED_REQUIREMENT;
      unmet = one->place;
    }
  }
  double share = asked->reads ? 1.0 / (1.0 / offer.write + 1.0 / offer.read) : offer.write;
  *verdict = (struct ses_core_verdict){
      .distance = (float)__builtin_sqrt(smaller(larger(squares, 0.0), 1.0)),
      .share = (float)share,
      .refusal = refusal,
      .unmet = unmet,
      .tight = offer.free < tight,
      .plenty = plenty & !(squares > 0),
  };
}

size_t ses_core_judge(const struct ses_core_query *query, struct ses_core_verdict *verdicts) {
  struct asked asked;
  ask(query, &asked);
  size_t accepted = 0;
  size_t sound = 0;
  for (size_t row = 0; row < query->count; row++) {
    judge(query, &asked, row, &verdicts[row]);
    bool takes = verdicts[row].refusal == SES_CORE_ACCEPTED;
    accepted += takes;
    sound += takes && !(query->elements[row].state & SES_CORE_DEGRADED);
  }
  if (sound == 0 || sound == accepted)
    return accepted;
  for (size_t row = 0; row < query->count; row++)
    if (verdicts[row].refusal == SES_CORE_ACCEPTED &&
        query->elements[row].state & SES_CORE_DEGRADED)
      verdicts[row].refusal = SES_CORE_REFUSED_DEGRADED;
  return sound;
}
