/* Which elements can take a file, and how far each falls short of what it needs; see ses/core.h. */
#include <stdbool.h>
#include <stddef.h>

#include "harm.h"
#include "need.h"
#include "number.h"
#include "ses/core.h"
#include "share.h"

/* What a requirement is compared with, by place: the members of an offer, one that is not known,
 * and from STATED on what the site states. */
#define UNKNOWN (sizeof(struct ses_core_offer) / sizeof(double))
#define STATED (UNKNOWN + 1)
#define WRITE (offsetof(struct ses_core_offer, write) / sizeof(double))

/* What an own file that is being written still takes, as a part of ROOM, the size that few such
 * files exceed.  Free bytes tell of what is written.  Of sizes that fall off exponentially, what is
 * left is the mean, however much was written, and one in twenty exceeds three times the mean. */
#define STILL_TAKEN 0.3

/* Sizes of earlier files say little of one that nobody has seen, so an element has room for it only
 * with this part of the largest element free, or with what mergerfs itself keeps free unless it is
 * configured otherwise.  With less on all of them, the one with most room is taken, as by mfs. */
#define AMPLE_PART 0.6
#define AMPLE_BYTES (4.0 * (1 << 30))

/* States in which an element takes nothing. */
#define CLOSED ((uint32_t)SES_CORE_INACTIVE | SES_CORE_READ_ONLY | SES_CORE_DRAINING)

union offered {
  struct ses_core_offer offer;
  double values[UNKNOWN + 1];
};

/* One requirement, as far as it is the same for every row. */
struct part {
  double factor;  /* 1 / bound, rounded up: what equals the bound meets it; AT_MOST: the bound */
  double weight;  /* of all weights together */
  uint32_t value; /* place of what it is compared with */
  uint8_t place;  /* in the need */
  bool hard;
  bool at_most;
};

/* Files claimed on the elements of one server. */
struct claimed {
  float claims;
  uint32_t server;
};

/* So many servers with claims are remembered; where there are more, or the query knows, each row
 * looks for its own. */
#define MAX_CLAIMED 6u

/* What is the same for every row, found once per query. */
struct asked {
  const struct ses_core_policy *policy;
  bool reads;         /* the rate of reading counts in the share */
  bool predict_reads; /* it does, or is compared with a bound */
  bool averages;
  double bytes;          /* of a file of known size; else 0 */
  double room;           /* that it needs without claims */
  double ample;          /* of a file of unknown size: with less, space is low */
  double low_space_room; /* of a file of unknown size: with less, and what open files still take,
                        space is low, as it is below */
  double room_fraction;  /* this part of the element's size, where no file like it is known */
  uint32_t count;
  uint32_t claimed_count; /* more than MAX_CLAIMED: there is no room for all */
  struct claimed claimed[MAX_CLAIMED];
  struct part parts[SES_REQUIREMENTS_MAX];
};

static uint32_t value_of(uint32_t kind) {
  switch (kind) {
  case SES_CORE_CURRENT_READ:
    return offsetof(struct ses_core_offer, read) / sizeof(double);
  case SES_CORE_AVERAGE_READ:
    return offsetof(struct ses_core_offer, average_read) / sizeof(double);
  case SES_CORE_CURRENT_WRITE:
    return offsetof(struct ses_core_offer, write) / sizeof(double);
  case SES_CORE_AVERAGE_WRITE:
    return offsetof(struct ses_core_offer, average_write) / sizeof(double);
  case SES_CORE_FREE:
    return offsetof(struct ses_core_offer, free) / sizeof(double);
  default:
    return kind >= SES_CORE_STATED_FIRST && kind < SES_CORE_STATED_FIRST + SES_CORE_STATED
               ? STATED + kind - SES_CORE_STATED_FIRST
               : UNKNOWN;
  }
}

double ses_core_ample(const struct ses_core_query *query) {
  double largest = 0.0;
  for (size_t row = 0; row < query->count; row++)
    largest = larger(query->elements[row].size, largest);
  return smaller(AMPLE_PART * largest, AMPLE_BYTES);
}

static void ask_for_room(const struct ses_core_query *query, struct asked *asked) {
  const struct ses_core_need *need = query->need;
  bool sized = need->bytes >= 0;
  asked->bytes = sized ? need->bytes : 0.0;
  asked->room =
      sized ? larger(asked->policy->minimum_free, need->bytes) : asked->policy->minimum_free;
  asked->ample = sized ? 0.0 : ses_core_ample(query);
  asked->low_space_room = !sized && need->room >= 0 ? need->room : 0.0;
  asked->room_fraction = sized || need->room >= 0 ? 0.0 : asked->policy->room_fraction;
}

/* A minimum of 0 is met by everything, even by what is not known: it needs no part. */
static void ask(const struct ses_core_query *query, struct asked *asked) {
  const struct ses_core_need *need = query->need;
  double weights = 0;
  for (uint32_t i = 0; i < requirements_of(need); i++)
    weights += need->requirements[i].weight;
  asked->policy = query->policy;
  asked->reads = asked->predict_reads = asked->averages = false;
  asked->count = 0;
  ask_for_room(query, asked);
  for (uint32_t i = 0; i < requirements_of(need); i++) {
    const struct ses_core_requirement *requirement = &need->requirements[i];
    if (is_rate_of_reading(requirement))
      asked->reads = asked->predict_reads = true;
    if (!requirement->at_most && !(requirement->bound > 0))
      continue;
    asked->predict_reads |= requirement->kind <= SES_CORE_AVERAGE_READ;
    asked->averages |= is_average(requirement);
    asked->parts[asked->count++] = (struct part){
        .factor = requirement->at_most ? requirement->bound
                                       : 1.0 / requirement->bound * (1.0 + 4 * __DBL_EPSILON__),
        .weight = requirement->weight / weights,
        .value = value_of(requirement->kind),
        .place = (uint8_t)i,
        .hard = requirement->hard != 0,
        .at_most = requirement->at_most != 0,
    };
  }
}

/* Into ASKED the claims by server. */
static void find_claimed(const struct ses_core_query *query, struct asked *asked) {
  asked->claimed_count = query->server_claims ? MAX_CLAIMED + 1 : 0;
  if (!query->claims || query->server_claims)
    return;
  for (size_t row = 0; row < query->count; row++) {
    if (query->claims[row] == 0)
      continue;
    uint32_t server = query->elements[row].server;
    uint32_t place = 0;
    while (place < asked->claimed_count && asked->claimed[place].server != server)
      place++;
    if (place == MAX_CLAIMED) {
      asked->claimed_count = MAX_CLAIMED + 1;
      return;
    }
    if (place == asked->claimed_count)
      asked->claimed[asked->claimed_count++] = (struct claimed){0.0F, server};
    asked->claimed[place].claims += (float)query->claims[row];
  }
}

static inline double server_claims(const struct ses_core_query *query, const struct asked *asked,
                                   size_t row) {
  if (!query->claims || !is_number(query->elements[row].server_rate))
    return 0.0;
  if (asked->claimed_count > MAX_CLAIMED)
    return server_claims_of(query, row);
  for (uint32_t place = 0; place < asked->claimed_count; place++)
    if (asked->claimed[place].server == query->elements[row].server)
      return (double)asked->claimed[place].claims;
  return 0.0;
}

/* The same where BOUND is the most that is allowed. */
static double excess(double value, double bound) {
  return value <= bound ? 0.0 : shortfall(bound / value);
}

static inline uint8_t refusal_of(bool excluded, uint32_t state) {
  if (!excluded && (state & CLOSED) == 0)
    return SES_CORE_ACCEPTED;
  return excluded                       ? SES_CORE_REFUSED_EXCLUDED
         : (state & SES_CORE_INACTIVE)  ? SES_CORE_REFUSED_INACTIVE
         : (state & SES_CORE_READ_ONLY) ? SES_CORE_REFUSED_READ_ONLY
                                        : SES_CORE_REFUSED_DRAINING;
}

static inline double value_for(const struct part *part, const struct ses_core_element *element,
                               const union offered *offered) {
  if (part->value == WRITE)
    return offered->offer.write;
  return part->value < STATED ? offered->values[part->value]
                              : (double)element->stated[part->value - STATED];
}

/* Returns whether it is accepted.  OF_SERVER: claims on its server. */
static inline bool judge(const struct ses_core_element *element, const struct asked *asked,
                         double claims, double of_server, bool excluded,
                         struct ses_core_verdict *verdict) {
  union offered offered;
  struct ses_core_offer *offer = &offered.offer;
  offered.values[UNKNOWN] = not_a_number();
  offer_of(element, claims, of_server, asked->predict_reads, asked->averages, offer);
  double streams = larger(0.0, element->own) + claims;
  double of_files = asked->low_space_room * (streams * STILL_TAKEN + 1.0);
  double of_size = larger(asked->room_fraction * element->size, asked->ample);
  uint8_t refusal = refusal_of(excluded, element->state);
  uint8_t unmet = 0;
  if (offer->free < asked->room + claims * asked->bytes && refusal == SES_CORE_ACCEPTED)
    refusal = SES_CORE_REFUSED_NO_ROOM;
  double squares = 0.0;
  for (uint32_t i = 0; i < asked->count; i++) {
    const struct part *part = &asked->parts[i];
    double value = value_for(part, element, &offered);
    double missing = part->at_most ? excess(value, part->factor) : shortfall(value * part->factor);
    squares += part->weight * missing * missing;
    if (part->hard && missing > 0 && refusal == SES_CORE_ACCEPTED) {
      refusal = SES_CORE_REFUSED_REQUIREMENT;
      unmet = part->place;
    }
  }
  double share = asked->reads ? 1.0 / (1.0 / offer->write + 1.0 / offer->read) : offer->write;
  if (!is_number(share)) /* as of one that gives a byte per second */
    share = 1.0 / (streams + element->foreign + 1.0);
  verdict->distance = (float)__builtin_sqrt(smaller(squares, 1.0));
  verdict->share = (float)share;
  verdict->refusal = refusal;
  verdict->unmet = unmet;
  verdict->low_space = offer->free < larger(of_files, of_size);
  return refusal == SES_CORE_ACCEPTED;
}

static size_t judge_all(const struct ses_core_query *query, struct ses_core_verdict *verdicts) {
  const struct ses_core_element *elements = query->elements;
  struct asked asked;
  ask(query, &asked);
  find_claimed(query, &asked);
  size_t accepted = 0;
  size_t degraded = 0;
  for (size_t row = 0; row < query->count; row++) {
    bool excluded = query->excluded && (query->excluded[row / 64] >> row % 64 & 1);
    bool takes = judge(&elements[row], &asked, claims_of(query, row),
                       server_claims(query, &asked, row), excluded, &verdicts[row]);
    accepted += takes;
    degraded += takes && (elements[row].state & SES_CORE_DEGRADED) != 0;
  }
  if (degraded == 0 || degraded == accepted)
    return accepted;
  for (size_t row = 0; row < query->count; row++)
    if (verdicts[row].refusal == SES_CORE_ACCEPTED && elements[row].state & SES_CORE_DEGRADED)
      verdicts[row].refusal = SES_CORE_REFUSED_DEGRADED;
  return accepted - degraded;
}

size_t ses_core_judge(const struct ses_core_query *query, struct ses_core_verdict *verdicts) {
  ses_core_find_harm(query, verdicts);
  return judge_all(query, verdicts);
}
