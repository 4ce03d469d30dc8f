#include "choice/choose.h"

#include <linux/futex.h>
#include <stddef.h>
#include <string.h>

#include "backends/answer.h"
#include "backends/backend.h"
#include "choice/needs.h"
#include "runtime/area.h"
#include "runtime/cache.h"
#include "runtime/large.h"
#include "runtime/sys.h"
#include "segments/published.h"
#include "ses/sequence.h"
#include "settings/settings.h"

#define CHOICES 16u /* at most for one file, each lost to another program or a new table */
#define AREAS 64u   /* each is held for about a microsecond */
#define MAX_SEEN 65535u
#define CACHE_LINE 64

/* What a choice needs besides the table. */
struct area {
  _Atomic long owner;
  uint32_t count; /* rows of the system */
  struct ses_core_need need;
  struct ses_core_need entry;
  struct ses_core_verdict verdicts[SES_TABLE_ELEMENTS];
  uint32_t claimed[SES_TABLE_ELEMENTS]; /* as seen: they show whether another program was quicker */
  uint32_t claims[SES_TABLE_ELEMENTS];  /* that `own` of the table does not hold */
  uint32_t scratch[SES_TABLE_ELEMENTS];
  uint32_t rows[SES_CLAIMS_STRIPES];
} __attribute__((aligned(CACHE_LINE)));

SES_LARGE static struct area areas[AREAS];

/* Threads begin at different ones. */
static struct area *take_area(void) {
  unsigned first = (unsigned)(ses_cache_mix((uintptr_t)__builtin_frame_address(0)) % AREAS);
  for (unsigned i = 0; i < AREAS; i++)
    if (ses_area_take(&areas[(first + i) % AREAS].owner))
      return &areas[(first + i) % AREAS];
  return NULL;
}

static uint32_t word(const uint32_t *at) { return __atomic_load_n(at, __ATOMIC_ACQUIRE); }
static uint64_t load(const uint64_t *at) { return __atomic_load_n(at, __ATOMIC_ACQUIRE); }

static const struct ses_table_system *system_of(const struct ses_candidates *candidates) {
  return &candidates->table->systems[candidates->system];
}

bool ses_candidates_find(struct ses_candidates *candidates, uint64_t application, unsigned major,
                         unsigned minor) {
  candidates->table = ses_table_segment();
  if (!candidates->table ||
      !ses_table_find(candidates->table, major, minor, &candidates->mount, &candidates->system))
    return false;
  return ses_claims_segment(candidates->table, &candidates->of) &&
         ses_needs_find(candidates->of.claims, application, &candidates->entry);
}

/* Into AREA what was claimed of each row, and what of that `own` does not hold; returns the sum of
 * that.  The agent may have counted claims that were taken back since.  `own` is read later than
 * what was counted: what this does not hold, `own` does. */
static uint32_t count_claims(const struct ses_candidates *candidates, struct area *area,
                             size_t rows) {
  const uint32_t *claimed = candidates->of.claims->claimed[candidates->system];
  const uint32_t *counted = candidates->of.claims->counted[candidates->system];
  uint32_t sum = 0;
  for (size_t row = 0; row < rows; row++) {
    area->claimed[row] = __atomic_load_n(&claimed[row], __ATOMIC_RELAXED);
    uint32_t left = area->claimed[row] - word(&counted[row]);
    area->claims[row] = left <= INT32_MAX ? left : 0;
    sum += area->claims[row];
  }
  return sum;
}

static unsigned members_of(const struct ses_table_place *place) {
  unsigned members = 0;
  for (unsigned i = 0; i < SES_MEMBER_WORDS; i++)
    members += (unsigned)__builtin_popcountll(place->members[i]);
  return members;
}

/* Is a choice of it one of a pool, of whose OSTs the file system chooses? */
static bool is_shared_pool(const struct ses_table_place *place) {
  return word(&place->lustre_form) == SES_LUSTRE_POOL && members_of(place) != 1;
}

static bool has_index(const struct ses_table_place *place) {
  return word(&place->index) <= UINT16_MAX;
}

/* The rows, into area->rows: one, or on Lustre as many as there are stripes, and at least WIDTH.
 * Where the first is of a pool of several OSTs, the file system takes care of the rest. */
static __attribute__((noinline)) unsigned choose_rows(const struct ses_candidates *candidates,
                                                      const struct ses_core_query *query,
                                                      struct area *area, unsigned width) {
  const struct ses_table_system *system = system_of(candidates);
  int first = ses_core_choose(query, area->verdicts);
  if (first < 0)
    return 0;
  area->rows[0] = (uint32_t)first;
  if (word(&system->backend) != SES_BACKEND_LUSTRE || is_shared_pool(&system->places[first]))
    return 1;
  if (width == SES_WIDTH_ALL)
    return 0;
  enum ses_core_cause cause;
  size_t count =
      ses_core_stripe(query, area->verdicts, area->scratch, area->rows, SES_CLAIMS_STRIPES, &cause);
  if (count > 0 && count < width) {
    area->need.stripes = width;
    count = ses_core_stripe(query, area->verdicts, area->scratch, area->rows, SES_CLAIMS_STRIPES,
                            &cause);
  }
  unsigned kept = 0;
  for (size_t i = 0; i < count && i < SES_CLAIMS_STRIPES; i++) {
    const struct ses_table_place *place = &system->places[area->rows[i]];
    if (!is_shared_pool(place) && (count == 1 || has_index(place)))
      area->rows[kept++] = area->rows[i];
  }
  return kept;
}

enum outcome { CHOSEN, REFUSED, LOST };

/* One choice out of the table as it is, not yet claimed. */
static enum outcome look(const struct ses_candidates *candidates, struct area *area, unsigned width,
                         struct ses_choice *choice) {
  const struct ses_table_system *system = system_of(candidates);
  const struct ses_rank *rank = &ses_settings()->rank;
  struct ses_claim *slot = choice->slot.claim;
  choice->sequence = ses_sequence_of(&system->sequence);
  if (choice->sequence % 2 != 0)
    return LOST;
  uint32_t count = word(&system->count);
  if (count > SES_TABLE_ELEMENTS)
    return REFUSED;
  area->count = count;
  uint64_t excluded = load(&system->excluded);
  if (word(&system->backend) == SES_BACKEND_MERGERFS)
    excluded |= ~load(&candidates->of.claims->head.staged[candidates->system]);
  uint32_t claims = count_claims(candidates, area, count);
  uint32_t streams = word(&system->streams) + claims;
  uint32_t total = word(&system->total);
  uint32_t first = ses_table_first(system->numbers, count, total, rank);
  uint32_t candidate_limit =
      ses_table_candidate_limit(word(&system->candidate_limit), streams, total, rank);
  slot->first = (uint8_t)first;
  slot->candidate_limit = candidate_limit;
  struct ses_core_query query = {.need = &area->need,
                                 .policy = &system->policy,
                                 .elements = system->elements,
                                 .claims = area->claims,
                                 .excluded = &excluded,
                                 .count = count,
                                 .first = first,
                                 .candidate_limit = candidate_limit,
                                 .ignores_last_placed = rank->ranks != 0};
  choice->row_count = choose_rows(candidates, &query, area, width);
  if (!ses_sequence_is_same(&system->sequence, choice->sequence))
    return LOST;
  if (choice->row_count == 0)
    return REFUSED;
  double bytes = area->need.bytes >= 0 ? area->need.bytes : ses_core_ample(&query);
  bool fits = !area->verdicts[area->rows[0]].low_space && bytes < (double)INT64_MAX;
  choice->bytes = fits ? (uint64_t)bytes : UINT64_MAX;
  choice->distance = area->verdicts[area->rows[0]].distance;
  for (unsigned i = 0; i < choice->row_count; i++)
    choice->rows[i] = (uint8_t)area->rows[i];
  return CHOSEN;
}

static void take_back(const struct ses_candidates *candidates, const struct ses_choice *choice,
                      unsigned count) {
  for (unsigned i = 0; i < count; i++)
    __atomic_fetch_sub(&candidates->of.claims->claimed[candidates->system][choice->rows[i]], 1,
                       __ATOMIC_SEQ_CST);
}

/* Claim each row that was chosen, unless somebody has since; in any case if it is the LAST choice
 * that is made for this file. */
static bool claim(const struct ses_candidates *candidates, const struct area *area,
                  const struct ses_choice *choice, bool last) {
  for (unsigned i = 0; i < choice->row_count; i++) {
    uint32_t *claimed = &candidates->of.claims->claimed[candidates->system][choice->rows[i]];
    uint32_t before = area->claimed[choice->rows[i]];
    if (last)
      __atomic_fetch_add(claimed, 1, __ATOMIC_SEQ_CST);
    else if (!__atomic_compare_exchange_n(claimed, &before, before + 1, false, __ATOMIC_SEQ_CST,
                                          __ATOMIC_RELAXED)) {
      take_back(candidates, choice, i);
      return false;
    }
  }
  if (ses_sequence_is_same(&system_of(candidates)->sequence, choice->sequence))
    return true;
  take_back(candidates, choice, choice->row_count);
  return false;
}

static uint16_t as_seen(float own, uint32_t claims) {
  double streams = (double)own + claims;
  return streams > 0 ? streams < MAX_SEEN ? (uint16_t)streams : MAX_SEEN : 0;
}

/* Into the slot what the agent needs to know of the choice. */
static void record(const struct ses_candidates *candidates, const struct area *area,
                   const struct ses_choice *choice) {
  const struct ses_table_system *system = system_of(candidates);
  struct ses_claim *slot = choice->slot.claim;
  slot->row_count = choice->row_count;
  slot->system = candidates->system;
  slot->epoch = load(&system->epoch);
  memcpy(slot->rows, choice->rows, sizeof slot->rows);
  slot->rank = ses_settings()->rank.rank;
  slot->ranks = ses_settings()->rank.ranks;
  memcpy(slot->job, ses_settings()->job, sizeof slot->job);
  memcpy(&slot->need, &area->need, sizeof slot->need);
  memset(slot->seen, 0, sizeof slot->seen);
  for (unsigned row = 0; row < area->count; row++)
    slot->seen[row] = as_seen(system->elements[row].own, area->claims[row]);
}

/* The agent looks at the claims once more between saying that it sleeps and sleeping: one of the
 * two sees the other. */
static void wake(const struct ses_table *table) {
  if (__atomic_load_n(&table->head.asleep, __ATOMIC_SEQ_CST) == 1)
    ses_sys3(SYS_futex, ses_address(&table->head.asleep), FUTEX_WAKE, INT32_MAX);
}

static bool choose_and_claim(const struct ses_candidates *candidates, struct area *area,
                             unsigned width, struct ses_choice *choice) {
  for (unsigned tried = 1; tried <= CHOICES; tried++) {
    enum outcome outcome = look(candidates, area, width, choice);
    if (outcome == REFUSED)
      return false;
    if (outcome == CHOSEN && claim(candidates, area, choice, tried == CHOICES)) {
      choice->slot.claim->attempts = (uint8_t)tried;
      return true;
    }
  }
  return false;
}

/* What the file needs, into area->need; into the slot the digest of the entry, and how much of it
 * the program stated. */
static bool find_need(const struct ses_candidates *candidates, const struct ses_stated *stated,
                      struct area *area, const struct ses_slot *slot) {
  if (!ses_needs_read(candidates->of.claims, candidates->entry, stated->application, &area->entry,
                      &slot->claim->digest))
    return false;
  slot->claim->stated =
      ses_needs_merge(&area->need, &area->entry, stated->requirements, stated->count);
  if (stated->expected_bytes >= 0)
    area->need.bytes = (double)stated->expected_bytes;
  if (stated->stripe_count > 0)
    area->need.stripes = stated->stripe_count;
  return true;
}

bool ses_choose(const struct ses_candidates *candidates, const struct ses_stated *stated,
                struct ses_choice *choice) {
  struct area *area = take_area();
  if (!area)
    return false;
  memset(choice, 0, sizeof *choice);
  bool chosen = false;
  if (ses_slot_take(&candidates->of, &choice->slot)) {
    chosen = find_need(candidates, stated, area, &choice->slot) &&
             choose_and_claim(candidates, area, stated->width, choice);
    if (chosen)
      record(candidates, area, choice);
    else
      ses_slot_give_back(&choice->slot);
  }
  ses_area_give_back(&area->owner);
  if (chosen)
    wake(candidates->table);
  return chosen;
}

/* FROM, ".ses" and the user's number, as one path; false: it does not fit, or is none. */
static bool write_stage(char *into, const char *from, uint32_t user) {
  static const char staging[] = "/" SES_STAGE_DIRECTORY "/";
  char digits[10];
  size_t length = strnlen(from, SES_TABLE_PATH_MAX);
  size_t count = 0;
  if (length == SES_TABLE_PATH_MAX)
    return false;
  memcpy(into, from, length);
  memcpy(into + length, staging, sizeof staging - 1);
  into += length + sizeof staging - 1;
  do
    digits[count++] = (char)('0' + user % 10);
  while (user /= 10);
  while (count > 0)
    *into++ = digits[--count];
  *into = '\0';
  return true;
}
_Static_assert(SES_TABLE_PATH_MAX + sizeof SES_STAGE_DIRECTORY + 12 <= SES_STAGE_MAX,
               "every stage fits into an answer");

static bool write_lustre(const struct ses_table_system *system, const struct ses_stated *stated,
                         const struct ses_choice *choice, struct ses_answer *answer) {
  const struct ses_table_place *first = &system->places[choice->rows[0]];
  answer->lustre_form = word(&first->lustre_form);
  bool pool = answer->lustre_form == SES_LUSTRE_POOL && choice->row_count == 1;
  if (pool || answer->lustre_form != SES_LUSTRE_POOL)
    memcpy(answer->pool, first->pool, sizeof answer->pool);
  else
    answer->lustre_form = SES_LUSTRE_LIST; /* each OST has a pool of its own */
  answer->stripe_count = pool ? stated->stripe_count : choice->row_count;
  answer->ost_count = pool ? 0 : choice->row_count;
  for (unsigned i = 0; i < answer->ost_count; i++) {
    uint32_t index = word(&system->places[choice->rows[i]].index);
    if (index > UINT16_MAX)
      return false;
    answer->osts[i] = (uint16_t)index;
  }
  if (pool)
    memcpy(answer->members, first->members, sizeof answer->members);
  return true;
}

static bool write_answer(const struct ses_candidates *candidates, const struct ses_stated *stated,
                         const struct ses_choice *choice, struct ses_answer *answer) {
  const struct ses_table_system *system = system_of(candidates);
  const struct ses_table_place *first = &system->places[choice->rows[0]];
  answer->placement_id = choice->slot.placement_id;
  answer->distance = (double)choice->distance;
  answer->stripe_size = stated->stripe_size;
  answer->stripe_count = stated->stripe_count;
  answer->status = SES_ANSWER_PLACE;
  answer->backend = word(&system->backend);
  memcpy(answer->element, first->element, sizeof answer->element);
  if (answer->backend == SES_BACKEND_LUSTRE)
    return write_lustre(system, stated, choice, answer);
  return write_stage(answer->stage, first->branch, candidates->of.user) &&
         write_stage(answer->stage_in_union,
                     candidates->table->mounts[candidates->mount].mount_point, candidates->of.user);
}

bool ses_choice_answer(const struct ses_candidates *candidates, const struct ses_stated *stated,
                       const struct ses_choice *choice, struct ses_answer *answer) {
  if (write_answer(candidates, stated, choice, answer) &&
      ses_sequence_is_same(&system_of(candidates)->sequence, choice->sequence) &&
      ses_answer_is_placement(answer))
    return true;
  take_back(candidates, choice, choice->row_count);
  ses_slot_give_back(&choice->slot);
  return false;
}
