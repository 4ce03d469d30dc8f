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
  bool roomy;     /* some row is not tight */
  bool rates;     /* a rate is asked for */
  double writing; /* of writing, the largest */
  float distance;
  float near; /* the largest distance that is as good */
  float share;
  float large;           /* the smallest share that is as good */
  double distance_steps; /* steps of equal distance in 1 */
  double share_steps;    /* steps of equal share in a byte per second */
  float most_kept;       /* the largest share of an element that is kept */
  double others_steps;   /* steps of equal streams of others in one */
  size_t limit;          /* places from here on come after those before, of the nearest */
};

/* One row as the order sees it; smaller comes first, member by member. */
struct key {
  double full; /* less room for each stream is larger; minus infinity where room is not tight */
  uint64_t classes; /* distance, later, scarce, kept, share */
  double ours;
  uint64_t others; /* in steps */
  uint64_t last_placed;
  size_t place;
};

static bool is_accepted(const struct ses_core_verdict *verdict) {
  return verdict->refusal == SES_CORE_ACCEPTED;
}

/* What the file lacks there, and streams of ours would. */
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
static inline uint64_t class_of(double behind, double steps) {
  double step = behind * steps;
  return step < MAX_STEPS ? (uint32_t)(int32_t)larger(step, 0.0) : (uint32_t)MAX_STEPS;
}

static inline uint64_t distance_class(const struct best *best,
                                      const struct ses_core_verdict *verdict) {
  if (missed(verdict) <= best->near)
    return 0;
  return 1 + class_of(missed(verdict) - best->near, best->distance_steps);
}

static inline uint64_t share_class(const struct best *best,
                                   const struct ses_core_verdict *verdict) {
  if (verdict->share >= best->large)
    return 0;
  return 1 + class_of((double)best->large - verdict->share, best->share_steps);
}

/* Of the rows with room if there are any, those whose distance is as good as the best. */
static inline bool is_near(const struct best *best, const struct ses_core_verdict *verdict) {
  return is_accepted(verdict) && !(best->roomy && verdict->tight) && missed(verdict) <= best->near;
}

static void find_distance(const struct ses_core_query *query,
                          const struct ses_core_verdict *verdicts, struct best *best) {
  float roomy = NO_DISTANCE;
  float any = NO_DISTANCE;
  for (size_t row = 0; row < query->count; row++) {
    float distance = is_accepted(&verdicts[row]) ? missed(&verdicts[row]) : NO_DISTANCE;
    float with_room = verdicts[row].tight ? NO_DISTANCE : distance;
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
  size_t few = query->few ? query->few : query->count;
  size_t place = 0;
  size_t row = query->first;
  float fastest = 0.0F;
  float most = 0.0F;  /* of those that are not fast */
  float meets = 0.0F; /* of those of them that meet what is asked for */
  for (size_t near = 0; place < query->count && near < few; place++, row = after(query, row)) {
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

static struct best best_of(const struct ses_core_query *query,
                           const struct ses_core_verdict *verdicts) {
  struct best best = {.rates = asks_for_rates(query->need),
                      .writing = writing_asked(query->need),
                      .others_steps = 1.0 / width_of(query->policy->equal_others)};
  find_distance(query, verdicts, &best);
  find_share(query, verdicts, &best);
  return best;
}

/* Of a row that is near, and not behind the limit. */
static inline uint64_t near_class(const struct ses_core_query *query, const struct best *best,
                                  const struct ses_core_verdict *verdict, size_t row) {
  uint64_t kept =
      is_fast(best, verdict, &query->elements[row]) && verdict->share <= best->most_kept;
  uint64_t scarce =
      best->rates && verdict->distance == 0 && (query->elements[row].state & SES_CORE_SCARCE) != 0;
  return scarce << 30 | kept << 29 | share_class(best, verdict);
}

static inline uint64_t classes_of(const struct ses_core_query *query, const struct best *best,
                                  const struct ses_core_verdict *verdict, size_t row) {
  uint64_t later = place_of(query, row) >= best->limit;
  return distance_class(best, verdict) << 32 | later << 31 | near_class(query, best, verdict, row);
}

static inline double ours_of(const struct ses_core_query *query,
                             const struct ses_core_element *element, size_t row) {
  return larger(element->own, 0.0) + claims_of(query, row);
}

static inline uint64_t others_of(const struct best *best, const struct ses_core_element *element) {
  return class_of(element->others, best->others_steps);
}

/* When a file was placed on it last, where that counts.  Not for idle elements of a decider that
 * hears late: others have placed on them meanwhile, and each decider has first rows of its own. */
static inline uint64_t last_placed_of(const struct ses_core_query *query,
                                      const struct ses_core_element *element, double ours) {
  return query->keeps_place || (query->few != 0 && ours <= 0.0) ? 0 : element->last_placed;
}

static inline double full_of(const struct ses_core_query *query,
                             const struct ses_core_verdict *verdict, size_t row) {
  const struct ses_core_element *element = &query->elements[row];
  return verdict->tight ? -room_of(element) / (ours_of(query, element, row) + 1.0)
                        : -__builtin_inf();
}

static inline struct key key_of(const struct ses_core_query *query, const struct best *best,
                                const struct ses_core_verdict *verdict, size_t row) {
  const struct ses_core_element *element = &query->elements[row];
  double ours = ours_of(query, element, row);
  return (struct key){
      .full = full_of(query, verdict, row),
      .classes = classes_of(query, best, verdict, row),
      .ours = ours,
      .others = others_of(best, element),
      .last_placed = last_placed_of(query, element, ours),
      .place = place_of(query, row),
  };
}

#define COMPARE(member)                                                                            \
  if (a->member < b->member)                                                                       \
    return true;                                                                                   \
  if (b->member < a->member)                                                                       \
  return false

static inline bool comes_before(const struct key *a, const struct key *b) {
  COMPARE(full);
  COMPARE(classes);
  COMPARE(ours);
  COMPARE(others);
  COMPARE(last_placed);
  return a->place < b->place;
}

/* Leave it at this member, unless they are equal there. */
#define DECIDE(member, value)                                                                      \
  do {                                                                                             \
    key.member = (value);                                                                          \
    if (key.member < last->member)                                                                 \
      return true;                                                                                 \
    if (last->member < key.member)                                                                 \
      return false;                                                                                \
  } while (0)

/* Whether ROW comes before LAST, by no more of its key than that takes: of most rows it takes
 * their verdict alone. */
static inline bool precedes(const struct ses_core_query *query, const struct best *best,
                            const struct ses_core_verdict *verdict, size_t row,
                            const struct key *last) {
  const struct ses_core_element *element = &query->elements[row];
  struct key key;
  DECIDE(full, full_of(query, verdict, row));
  if (distance_class(best, verdict) << 32 > last->classes)
    return false;
  DECIDE(classes, classes_of(query, best, verdict, row));
  DECIDE(ours, ours_of(query, element, row));
  DECIDE(others, others_of(best, element));
  DECIDE(last_placed, last_placed_of(query, element, key.ours));
  return place_of(query, row) < last->place;
}

/* Rows in a heap: the last in order on top. */
struct heap {
  const struct ses_core_query *query;
  const struct best *best;
  const struct ses_core_verdict *verdicts;
  uint32_t *rows;
  size_t count;
};

static struct key key_at(const struct heap *heap, size_t place) {
  uint32_t row = heap->rows[place];
  return key_of(heap->query, heap->best, &heap->verdicts[row], row);
}

/* Put ROW at PLACE and let it sink. */
static void sink(const struct heap *heap, size_t place, uint32_t row) {
  struct key sinking = key_of(heap->query, heap->best, &heap->verdicts[row], row);
  for (;;) {
    size_t child = 2 * place + 1;
    if (child >= heap->count)
      break;
    struct key last = key_at(heap, child);
    if (child + 1 < heap->count) {
      struct key other = key_at(heap, child + 1);
      if (comes_before(&last, &other)) {
        last = other;
        child++;
      }
    }
    if (!comes_before(&sinking, &last))
      break;
    heap->rows[place] = heap->rows[child];
    place = child;
  }
  heap->rows[place] = row;
}

static void order(struct heap *heap) {
  for (size_t place = heap->count / 2; place-- > 0;)
    sink(heap, place, heap->rows[place]);
}

size_t ses_core_rank(const struct ses_core_query *query, const struct ses_core_verdict *verdicts,
                     uint32_t *rows, size_t most) {
  struct best best = best_of(query, verdicts);
  struct heap heap = {query, &best, verdicts, rows, 0};
  struct key last = {0};
  for (size_t row = 0; row < query->count && most > 0; row++) {
    if (!is_accepted(&verdicts[row]))
      continue;
    if (heap.count < most) {
      rows[heap.count++] = (uint32_t)row;
      if (heap.count < most)
        continue;
      order(&heap);
    } else {
      if (!precedes(query, &best, &verdicts[row], row, &last))
        continue;
      sink(&heap, 0, (uint32_t)row);
    }
    last = key_at(&heap, 0);
  }
  if (heap.count < most)
    order(&heap);
  size_t count = heap.count;
  while (heap.count > 1) {
    uint32_t top = rows[0];
    uint32_t moved = rows[--heap.count];
    sink(&heap, 0, moved);
    rows[heap.count] = top;
  }
  return count;
}

/* What is compared, at the places of enum ses_core_order from ROOM on. */
static void numbers_of(const struct key *key, double numbers[SES_CORE_KEYS]) {
  const double all[SES_CORE_KEYS] = {
      key->full,
      (double)(key->classes >> 32),
      (double)(key->classes >> 31 & 1),
      (double)(key->classes >> 30 & 1),
      (double)(key->classes >> 29 & 1),
      (double)(key->classes & 0x1fffffff),
      key->ours,
      (double)key->others,
      (double)key->last_placed,
      (double)key->place,
  };
  __builtin_memcpy(numbers, all, sizeof all);
}

/* By what B comes after A. */
static enum ses_core_order difference(const double a[SES_CORE_KEYS],
                                      const double b[SES_CORE_KEYS]) {
  for (int at = 0; at < SES_CORE_KEYS; at++)
    if (a[at] != b[at])
      return a[at] < b[at] ? (enum ses_core_order)(at + SES_CORE_ORDER_ROOM) : SES_CORE_ORDER_FIRST;
  return SES_CORE_ORDER_FIRST;
}

void ses_core_ordered_by(const struct ses_core_query *query,
                         const struct ses_core_verdict *verdicts, const uint32_t *rows,
                         size_t count, uint8_t *by, double *keys) {
  struct best best = best_of(query, verdicts);
  double before[SES_CORE_KEYS];
  double numbers[SES_CORE_KEYS];
  for (size_t place = 0; place < count; place++) {
    struct key key = key_of(query, &best, &verdicts[rows[place]], rows[place]);
    numbers_of(&key, numbers);
    by[place] = place > 0 ? (uint8_t)difference(before, numbers) : SES_CORE_ORDER_FIRST;
    if (by[place] == SES_CORE_ORDER_DISTANCE &&
        verdicts[rows[place]].distance <= verdicts[rows[place - 1]].distance)
      by[place] = SES_CORE_ORDER_HARM;
    if (keys)
      __builtin_memcpy(keys + place * SES_CORE_KEYS, numbers, sizeof numbers);
    __builtin_memcpy(before, numbers, sizeof numbers);
  }
}

/* Leave a row that comes after the first one by this member; most do by one of the first. */
#define WEIGH(member, value)                                                                       \
  key.member = (value);                                                                            \
  if (!before && key.member > first.member)                                                        \
    continue;                                                                                      \
  before |= key.member < first.member

/* The first of the rows near, where there is room on some. */
static int first_near(const struct ses_core_query *query, const struct best *best,
                      const struct ses_core_verdict *verdicts) {
  int chosen = -1;
  struct key first = {.classes = UINT64_MAX};
  size_t row = query->first;
  for (size_t place = 0; place < best->limit; place++, row = after(query, row)) {
    const struct ses_core_verdict *verdict = &verdicts[row];
    const struct ses_core_element *element = &query->elements[row];
    if (!is_near(best, verdict))
      continue;
    struct key key;
    bool before = false;
    WEIGH(classes, near_class(query, best, verdict, row));
    WEIGH(ours, ours_of(query, element, row));
    WEIGH(others, others_of(best, element));
    WEIGH(last_placed, last_placed_of(query, element, key.ours));
    if (before) {
      chosen = (int)row;
      first = key;
    }
  }
  return chosen;
}

int ses_core_choose(const struct ses_core_query *query, struct ses_core_verdict *verdicts) {
  if (ses_core_judge(query, verdicts) == 0)
    return -1;
  struct best best = best_of(query, verdicts);
  uint32_t row;
  if (best.roomy)
    return first_near(query, &best, verdicts);
  return ses_core_rank(query, verdicts, &row, 1) > 0 ? (int)row : -1;
}
