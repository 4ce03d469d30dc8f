/* The order of the rows that can take a file; see ses/core.h. */
#include <stdbool.h>

#include "need.h"
#include "number.h"
#include "ses/core.h"
#include "share.h"

/* So many steps behind the best, or more, or not known. */
#define MAX_STEPS 1000000.0
/* More than distance and harm are. */
#define NO_DISTANCE 2000.0F
#define INFINITE __builtin_inff()
/* What lies exactly at the end of a step is in it, whatever rounding did. */
#define ROUNDED_UP 1.00001

/* What the best of all rows has, from which the classes of equals are counted. */
struct best {
  bool roomy;     /* some row is not low on space */
  bool rates;     /* a rate is asked for */
  double writing; /* of writing, the largest */
  float distance;
  float near; /* the largest distance that is as good */
  float share;
  float large;           /* the smallest share that is as good */
  double distance_steps; /* steps of equal distance in 1 */
  double share_steps;    /* steps of equal share in a byte per second */
  float most_kept;       /* the largest share of an element that is kept */
  double foreign_steps;  /* steps of equal foreign streams in one */
  size_t limit;          /* places from here on come after those before, of the nearest */
};

/* What the order is stated on: a question, what was found of its rows, and the best of them. */
struct order {
  const struct ses_core_query *query;
  const struct ses_core_verdict *verdicts;
  struct best best;
};

static bool is_accepted(const struct ses_core_verdict *verdict) {
  return verdict->refusal == SES_CORE_ACCEPTED;
}

/* What the file lacks there, and own streams would. */
static inline float missed(const struct ses_core_verdict *verdict) {
  return verdict->distance + verdict->harm;
}

/* The place of ROW in the order of the table, and the row after it. */
static inline size_t place_of(const struct ses_core_query *query, size_t row) {
  return row >= query->first ? row - query->first : row + query->count - query->first;
}

static inline size_t after(const struct ses_core_query *query, size_t row) {
  return row + 1 < query->count ? row + 1 : 0;
}

static double width_of(double width) { return width > 0 ? width : 1e-6; }

/* What lies BEHIND the first step is in which of the others, from 0; what is not known is in the
 * last. */
static inline double class_of(double behind, double steps) {
  double step = behind * steps;
  return step < MAX_STEPS ? (double)(int32_t)larger(step, 0.0) : MAX_STEPS;
}

/* Of the rows with room if there are any, those whose distance is as good as the best. */
static inline bool is_near(const struct best *best, const struct ses_core_verdict *verdict) {
  return is_accepted(verdict) && !(best->roomy && verdict->low_space) &&
         missed(verdict) <= best->near;
}

static void find_distance(const struct ses_core_query *query,
                          const struct ses_core_verdict *verdicts, struct best *best) {
  float roomy = NO_DISTANCE;
  float any = NO_DISTANCE;
  for (size_t row = 0; row < query->count; row++) {
    float distance = is_accepted(&verdicts[row]) ? missed(&verdicts[row]) : NO_DISTANCE;
    float with_room = verdicts[row].low_space ? NO_DISTANCE : distance;
    any = distance < any ? distance : any;
    roomy = with_room < roomy ? with_room : roomy;
  }
  double width = width_of(query->policy->equal_distance);
  best->roomy = roomy < NO_DISTANCE;
  best->distance = best->roomy ? roomy : any;
  best->distance_steps = 1.0 / width;
  best->near = (float)(best->distance + width * ROUNDED_UP);
}

/* It meets what is asked for, and the largest rate that anybody requires as well, which is more. */
static inline bool is_fast(const struct best *best, const struct ses_core_verdict *verdict,
                           const struct ses_core_element *element) {
  return best->rates && !(verdict->distance > 0) && element->kept_for > best->writing &&
         element->write_rate >= element->kept_for;
}

/* Among those near, and no more of them than are to be compared. */
static void find_share(const struct ses_core_query *query, const struct ses_core_verdict *verdicts,
                       struct best *best) {
  size_t limit = query->candidate_limit ? query->candidate_limit : query->count;
  size_t place = 0;
  size_t row = query->first;
  float fastest = 0.0F;
  float most = 0.0F;  /* of those that are not fast */
  float meets = 0.0F; /* of those of them that meet what is asked for */
  for (size_t near = 0; place < query->count && near < limit; place++, row = after(query, row)) {
    if (!is_near(best, &verdicts[row]))
      continue;
    near++;
    float share = verdicts[row].share;
    if (is_fast(best, &verdicts[row], &query->elements[row])) {
      fastest = share > fastest ? share : fastest;
      continue;
    }
    most = share > most ? share : most;
    if (!(verdicts[row].distance > 0))
      meets = share > meets ? share : meets;
  }
  double kept = meets > 0 ? meets / query->policy->kept_share * ROUNDED_UP : -1.0;
  best->most_kept = kept < INFINITE ? (float)kept : INFINITE;
  best->share = fastest > most && fastest > best->most_kept ? fastest : most;
  best->limit = place;
  double width = width_of(query->policy->equal_share) * best->share;
  best->large = (float)(best->share - width * ROUNDED_UP);
  best->share_steps = width > 0 ? 1.0 / width : 0.0;
}

static struct order order_of(const struct ses_core_query *query,
                             const struct ses_core_verdict *verdicts) {
  struct order order = {.query = query,
                        .verdicts = verdicts,
                        .best = {.rates = asks_for_rates(query->need),
                                 .writing = writing_asked(query->need),
                                 .foreign_steps = 1.0 / width_of(query->policy->equal_foreign)}};
  find_distance(query, verdicts, &order.best);
  find_share(query, verdicts, &order.best);
  return order;
}

/* The order: what ROW has at BY, which is constant where it is called; smaller comes first, BY by
 * BY from ROOM to TABLE. */
static inline __attribute__((always_inline)) double number_of(const struct order *order, size_t row,
                                                              int by) {
  const struct ses_core_query *query = order->query;
  const struct ses_core_element *element = &query->elements[row];
  const struct ses_core_verdict *verdict = &order->verdicts[row];
  const struct best *best = &order->best;
  double own = larger(element->own, 0.0) + claims_of(query, row);
  switch (by) {
  case SES_CORE_ORDER_ROOM: /* less for each stream is larger */
    return verdict->low_space ? -room_of(element) / (own + 1.0) : -__builtin_inf();
  case SES_CORE_ORDER_DISTANCE:
    return missed(verdict) <= best->near
               ? 0.0
               : 1.0 + class_of(missed(verdict) - best->near, best->distance_steps);
  case SES_CORE_ORDER_COMPARED:
    return place_of(query, row) >= best->limit;
  case SES_CORE_ORDER_SCARCE:
    return best->rates && !(verdict->distance > 0) && (element->state & SES_CORE_SCARCE) != 0;
  case SES_CORE_ORDER_KEPT:
    return is_fast(best, verdict, element) && verdict->share <= best->most_kept;
  case SES_CORE_ORDER_SHARE:
    return verdict->share >= best->large
               ? 0.0
               : 1.0 + class_of((double)best->large - verdict->share, best->share_steps);
  case SES_CORE_ORDER_OWN:
    return own;
  case SES_CORE_ORDER_FOREIGN:
    return class_of(element->foreign, best->foreign_steps);
  case SES_CORE_ORDER_LAST_PLACED:
    /* Not of idle elements where placements are reported late: others have placed on them
     * meanwhile, and each decider has first rows of its own. */
    return query->ignores_last_placed || (query->candidate_limit != 0 && own <= 0.0)
               ? 0.0
               : (double)element->last_placed;
  default:
    return (double)place_of(query, row);
  }
}

/* Everything that is compared of ROW. */
static void numbers_of(const struct order *order, size_t row, double numbers[SES_CORE_KEYS]) {
#pragma GCC unroll 10
  for (int at = 0; at < SES_CORE_KEYS; at++)
    numbers[at] = number_of(order, row, SES_CORE_ORDER_ROOM + at);
}

/* By what ROW comes after another row, which has NUMBERS; FIRST: it comes before that one.  Of most
 * rows it takes their distance alone. */
static inline enum ses_core_order comes_after(const struct order *order, size_t row,
                                              const double numbers[SES_CORE_KEYS]) {
#pragma GCC unroll 10
  for (int at = 0; at < SES_CORE_KEYS; at++) {
    double number = number_of(order, row, SES_CORE_ORDER_ROOM + at);
    if (number != numbers[at])
      return number > numbers[at] ? (enum ses_core_order)(SES_CORE_ORDER_ROOM + at)
                                  : SES_CORE_ORDER_FIRST;
  }
  return SES_CORE_ORDER_FIRST;
}

/* Let ROW sink from PLACE in a heap of COUNT rows with the last in order on top. */
static void sink(const struct order *order, uint32_t *rows, size_t count, size_t place,
                 uint32_t row) {
  double sinking[SES_CORE_KEYS];
  double numbers[SES_CORE_KEYS];
  numbers_of(order, row, sinking);
  for (size_t child = 2 * place + 1; child < count; child = 2 * place + 1) {
    numbers_of(order, rows[child], numbers);
    if (child + 1 < count && comes_after(order, rows[child + 1], numbers))
      child++;
    if (!comes_after(order, rows[child], sinking))
      break;
    rows[place] = rows[child];
    place = child;
  }
  rows[place] = row;
}

static size_t rank(const struct order *order, uint32_t *rows, size_t most) {
  const struct ses_core_query *query = order->query;
  const struct ses_core_verdict *verdicts = order->verdicts;
  double last[SES_CORE_KEYS];
  size_t count = 0;
  size_t row = 0;
  for (; row < query->count && count < most; row++)
    if (is_accepted(&verdicts[row]))
      rows[count++] = (uint32_t)row;
  for (size_t place = count / 2; place-- > 0;)
    sink(order, rows, count, place, rows[place]);
  if (row < query->count)
    numbers_of(order, rows[0], last);
  for (; row < query->count; row++) {
    if (!is_accepted(&verdicts[row]) || comes_after(order, row, last))
      continue;
    sink(order, rows, count, 0, (uint32_t)row);
    numbers_of(order, rows[0], last);
  }
  for (size_t left = count; left-- > 1;) {
    uint32_t top = rows[0];
    sink(order, rows, left, 0, rows[left]);
    rows[left] = top;
  }
  return count;
}

static void say_why(const struct order *order, const uint32_t *rows, size_t count, uint8_t *by,
                    double *keys) {
  const struct ses_core_verdict *verdicts = order->verdicts;
  double numbers[SES_CORE_KEYS];
  for (size_t place = 0; place < count; place++) {
    const struct ses_core_verdict *verdict = &verdicts[rows[place]];
    by[place] = SES_CORE_ORDER_FIRST;
    if (place > 0)
      by[place] = (uint8_t)comes_after(order, rows[place], numbers);
    if (by[place] == SES_CORE_ORDER_DISTANCE &&
        verdict->distance <= verdicts[rows[place - 1]].distance)
      by[place] = SES_CORE_ORDER_HARM;
    numbers_of(order, rows[place], numbers);
    if (keys)
      __builtin_memcpy(keys + place * SES_CORE_KEYS, numbers, sizeof numbers);
  }
}

size_t ses_core_rank(const struct ses_core_query *query, const struct ses_core_verdict *verdicts,
                     uint32_t *rows, size_t most) {
  if (most == 0)
    return 0;
  struct order order = order_of(query, verdicts);
  return rank(&order, rows, most);
}

void ses_core_ordered_by(const struct ses_core_query *query,
                         const struct ses_core_verdict *verdicts, const uint32_t *rows,
                         size_t count, uint8_t *by, double *keys) {
  struct order order = order_of(query, verdicts);
  say_why(&order, rows, count, by, keys);
}

size_t ses_core_rank_by(const struct ses_core_query *query, const struct ses_core_verdict *verdicts,
                        uint32_t *rows, size_t most, uint8_t *by, double *keys) {
  if (most == 0)
    return 0;
  struct order order = order_of(query, verdicts);
  size_t count = rank(&order, rows, most);
  say_why(&order, rows, count, by, keys);
  return count;
}

int ses_core_choose(const struct ses_core_query *query, struct ses_core_verdict *verdicts) {
  if (ses_core_judge(query, verdicts) == 0)
    return -1;
  struct order order = order_of(query, verdicts);
  double first[SES_CORE_KEYS];
  int chosen = -1;
  for (size_t row = 0; row < query->count; row++) {
    if (!is_accepted(&verdicts[row]) || (chosen >= 0 && comes_after(&order, row, first)))
      continue;
    chosen = (int)row;
    numbers_of(&order, row, first);
  }
  return chosen;
}
