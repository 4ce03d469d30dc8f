/* The order of the rows that can take a file; see ses/core.h. */
#include <stdbool.h>

#include "number.h"
#include "ses/core.h"

/* What the best of all rows has, from which the classes of equals are counted. */
struct best {
  bool roomy; /* some row is not tight */
  float distance;
  float share;
  size_t limit; /* rows from here on come after those before, of the nearest */
  bool rates;   /* a rate is asked for */
};

/* One row as the order sees it; smaller comes first, member by member. */
struct key {
  uint32_t tight;
  double full; /* less room is larger; 0 where not tight */
  uint32_t distance;
  uint32_t later; /* beyond the few that are compared */
  uint32_t scarce;
  uint32_t share;
  double speed; /* where there is plenty: the capability */
  double ours;
  uint64_t turn;
  size_t row;
};

static bool is_accepted(const struct ses_core_verdict *verdict) {
  return verdict->refusal == SES_CORE_ACCEPTED;
}

/* How many steps of WIDTH lie in BEHIND; a number that is not known lies behind all. */
static uint32_t class_of(double behind, double width) {
  static const double most = 1e6;
  if (!(behind >= 0))
    return behind < 0 ? 0 : (uint32_t)most;
  return width > 0 ? (uint32_t)smaller(behind / width, most) : behind > 0;
}

static bool asks_for_rates(const struct ses_core_need *need) {
  for (uint32_t i = 0; i < need->count && i < SES_CORE_REQUIREMENTS; i++)
    if (need->requirements[i].kind != SES_CORE_FREE &&
        need->requirements[i].kind < SES_CORE_STATED_FIRST)
      return true;
  return false;
}

static bool is_near(const struct ses_core_query *query, const struct best *best,
                    const struct ses_core_verdict *verdict) {
  return is_accepted(verdict) && !(best->roomy && verdict->tight) &&
         class_of(verdict->distance - best->distance, query->policy->equal_distance) == 0;
}

static struct best best_of(const struct ses_core_query *query,
                           const struct ses_core_verdict *verdicts) {
  struct best best = {.distance = 2.0F, .limit = query->count};
  for (size_t row = 0; row < query->count; row++)
    best.roomy = best.roomy || (is_accepted(&verdicts[row]) && !verdicts[row].tight);
  for (size_t row = 0; row < query->count; row++)
    if (is_accepted(&verdicts[row]) && !(best.roomy && verdicts[row].tight) &&
        verdicts[row].distance < best.distance)
      best.distance = verdicts[row].distance;
  size_t near = 0;
  for (size_t row = 0; row < best.limit; row++) {
    if (!is_near(query, &best, &verdicts[row]))
      continue;
    if (verdicts[row].share > best.share)
      best.share = verdicts[row].share;
    if (++near == query->few)
      best.limit = row + 1;
  }
  best.rates = asks_for_rates(query->need);
  return best;
}

static struct key key_of(const struct ses_core_query *query, const struct best *best,
                         const struct ses_core_verdict *verdict, size_t row) {
  const struct ses_core_element *element = &query->elements[row];
  const struct ses_core_policy *policy = query->policy;
  struct key key = {.row = row, .turn = element->turn};
  if (verdict->tight && best->roomy)
    key.tight = 1;
  if (verdict->tight)
    key.full = -((is_number(element->free) ? element->free : element->size) - element->reserved);
  if (!is_number(key.full))
    key.full = 0;
  key.distance = class_of(verdict->distance - best->distance, policy->equal_distance);
  key.later = row >= best->limit;
  key.scarce = best->rates && verdict->distance == 0 && (element->state & SES_CORE_SCARCE) != 0;
  key.share =
      verdict->plenty ? 0 : class_of(1.0 - verdict->share / best->share, policy->equal_share);
  if (verdict->plenty && is_number(element->write_rate))
    key.speed = element->write_rate;
  key.ours = element->own + (query->claims ? query->claims[row] : 0.0);
  return key;
}

#define COMPARE(member)                                                                            \
  if (a->member != b->member)                                                                      \
  return a->member < b->member

static bool comes_before(const struct key *a, const struct key *b) {
  COMPARE(tight);
  COMPARE(full);
  COMPARE(distance);
  COMPARE(later);
  COMPARE(scarce);
  COMPARE(share);
  COMPARE(speed);
  COMPARE(ours);
  COMPARE(turn);
  return a->row < b->row;
}

static bool row_before(const struct ses_core_query *query, const struct best *best,
                       const struct ses_core_verdict *verdicts, uint32_t a, uint32_t b) {
  struct key first = key_of(query, best, &verdicts[a], a);
  struct key second = key_of(query, best, &verdicts[b], b);
  return comes_before(&first, &second);
}

/* ROWS is a heap of COUNT, the last in order on top; let what is at PLACE sink. */
static void sink(const struct ses_core_query *query, const struct best *best,
                 const struct ses_core_verdict *verdicts, uint32_t *rows, size_t count,
                 size_t place) {
  for (;;) {
    size_t child = 2 * place + 1;
    if (child >= count)
      return;
    if (child + 1 < count && row_before(query, best, verdicts, rows[child], rows[child + 1]))
      child++;
    if (!row_before(query, best, verdicts, rows[place], rows[child]))
      return;
    uint32_t moved = rows[place];
    rows[place] = rows[child];
    rows[child] = moved;
    place = child;
  }
}

size_t ses_core_rank(const struct ses_core_query *query, const struct ses_core_verdict *verdicts,
                     uint32_t *rows, size_t most) {
  struct best best = best_of(query, verdicts);
  size_t count = 0;
  if (most == 0)
    return 0;
  for (size_t row = 0; row < query->count; row++) {
    if (!is_accepted(&verdicts[row]))
      continue;
    if (count < most) {
      rows[count++] = (uint32_t)row;
      if (count == most)
        for (size_t place = count / 2; place-- > 0;)
          sink(query, &best, verdicts, rows, count, place);
    } else if (row_before(query, &best, verdicts, (uint32_t)row, rows[0])) {
      rows[0] = (uint32_t)row;
      sink(query, &best, verdicts, rows, count, 0);
    }
  }
  if (count < most)
    for (size_t place = count / 2; place-- > 0;)
      sink(query, &best, verdicts, rows, count, place);
  for (size_t left = count; left > 1; left--) {
    uint32_t last = rows[0];
    rows[0] = rows[left - 1];
    rows[left - 1] = last;
    sink(query, &best, verdicts, rows, left - 1, 0);
  }
  return count;
}

int ses_core_choose(const struct ses_core_query *query, struct ses_core_verdict *verdicts) {
  if (ses_core_judge(query, verdicts) == 0)
    return -1;
  struct best best = best_of(query, verdicts);
  int chosen = -1;
  struct key first = {0};
  for (size_t row = 0; row < query->count; row++) {
    if (!is_accepted(&verdicts[row]))
      continue;
    struct key key = key_of(query, &best, &verdicts[row], row);
    if (chosen < 0 || comes_before(&key, &first)) {
      chosen = (int)row;
      first = key;
    }
  }
  return chosen;
}
