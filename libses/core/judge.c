/* Which elements can take a file, and how far each falls short of what it needs; see ses/core.h. */
#include <stdbool.h>

#include "number.h"
#include "ses/core.h"

/* What the requirements say of rates, found once per query. */
struct wanted {
  bool reads;
  bool writes;
  double read_bound; /* the largest asked for */
  double write_bound;
  double weights;
};

static bool reads(uint32_t kind) {
  return kind == SES_CORE_CURRENT_READ || kind == SES_CORE_AVERAGE_READ;
}

static bool writes(uint32_t kind) {
  return kind == SES_CORE_CURRENT_WRITE || kind == SES_CORE_AVERAGE_WRITE;
}

static uint32_t count_of(const struct ses_core_need *need) {
  return need->count < SES_CORE_REQUIREMENTS ? need->count : SES_CORE_REQUIREMENTS;
}

static struct wanted wanted_of(const struct ses_core_need *need) {
  struct wanted wanted = {0};
  for (uint32_t i = 0; i < count_of(need); i++) {
    const struct ses_core_requirement *one = &need->requirements[i];
    wanted.weights += one->weight;
    if (reads(one->kind)) {
      wanted.reads = true;
      wanted.read_bound = larger(wanted.read_bound, one->bound);
    } else if (writes(one->kind)) {
      wanted.writes = true;
      wanted.write_bound = larger(wanted.write_bound, one->bound);
    }
  }
  return wanted;
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

/* s, 0..1.  A minimum of 0 is met by everything, even by what is not known. */
static double shortfall(const struct ses_core_requirement *one, double value) {
  if (!one->at_most && !(one->bound > 0))
    return 0.0;
  if (!is_number(value))
    return 1.0;
  if (one->at_most)
    return value > one->bound ? 1.0 - one->bound / value : 0.0;
  return value < one->bound ? 1.0 - value / one->bound : 0.0;
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

/* 1 / (1 / write + 1 / read) where reading is asked for. */
static double share_of(const struct wanted *wanted, double write, double read) {
  return wanted->reads ? 1.0 / (1.0 / write + 1.0 / read) : write;
}

static void judge(const struct ses_core_query *query, const struct wanted *wanted, size_t row,
                  struct ses_core_verdict *verdict) {
  const struct ses_core_element *element = &query->elements[row];
  const struct ses_core_need *need = query->need;
  double claims = query->claims ? query->claims[row] : 0.0;
  *verdict = (struct ses_core_verdict){.refusal = refusal_of(query, row)};
  struct ses_core_offer offer;
  ses_core_predict(element, claims, query->policy, &offer);
  double tight = 0.0;
  double room = room_needed(query, element, claims, &tight);
  if (verdict->refusal == SES_CORE_ACCEPTED && offer.free < room)
    verdict->refusal = SES_CORE_REFUSED_NO_ROOM;
  verdict->tight = offer.free < tight;
  double squares = 0.0;
  for (uint32_t i = 0; i < count_of(need); i++) {
    const struct ses_core_requirement *one = &need->requirements[i];
    double missing = shortfall(one, value_of(one->kind, element, &offer));
    squares += one->weight * missing * missing;
    if (missing > 0 && one->hard && verdict->refusal == SES_CORE_ACCEPTED) {
      verdict->refusal = SES_CORE_REFUSED_REQUIREMENT;
      verdict->unmet = (uint8_t)i;
    }
  }
  verdict->distance = squares > 0 ? (float)__builtin_sqrt(squares / wanted->weights) : 0.0F;
  verdict->share = (float)share_of(wanted, offer.write, offer.read);
  double plenty = query->policy->plenty;
  verdict->plenty = plenty > 0 && (wanted->reads || wanted->writes) && verdict->distance == 0 &&
                    (!wanted->reads || offer.read >= plenty * wanted->read_bound) &&
                    (!wanted->writes || offer.write >= plenty * wanted->write_bound);
}

size_t ses_core_judge(const struct ses_core_query *query, struct ses_core_verdict *verdicts) {
  struct wanted wanted = wanted_of(query->need);
  size_t accepted = 0;
  size_t sound = 0;
  for (size_t row = 0; row < query->count; row++) {
    judge(query, &wanted, row, &verdicts[row]);
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
