/* Asks the core about tables of any bytes, as shared memory may hold them, and checks what it says.
 * Built with the sanitizers: what reads or shifts by such content is seen.
 * Use: fuzz_core SEED QUESTIONS. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "ses/core.h"

#define MAX_ROWS 40

static uint64_t state;

static uint64_t number(void) { /* xorshift64* */
  state ^= state >> 12;
  state ^= state << 25;
  state ^= state >> 27;
  return state * 2685821657736338717u;
}

/* Mostly any bytes, at times those numbers that are special. */
static void fill(void *memory, size_t size) {
  static const double special[] = {0.0, -0.0, 1e308, -1e308, 1e-310, 5e8, -1.0};
  unsigned char *bytes = memory;
  uint64_t way = number() % 4;
  for (size_t i = 0; i + 8 <= size; i += 8) {
    uint64_t word = number();
    if (way == 1)
      memcpy(&word, &special[word % 7], 8);
    else if (way == 2)
      word = word % 3 ? 0 : ~0ull;
    memcpy(bytes + i, &word, 8);
  }
}

static void check(int holds, const char *what) {
  if (!holds) {
    fprintf(stderr, "%s\n", what);
    exit(1);
  }
}

static void check_rows(const uint32_t *rows, size_t count, size_t most,
                       const struct ses_core_query *query,
                       const struct ses_core_verdict *verdicts) {
  unsigned char seen[MAX_ROWS] = {0};
  check(count <= most && count <= query->count, "more rows than there are");
  for (size_t i = 0; i < count; i++) {
    check(rows[i] < query->count, "a row that is not there");
    check(!seen[rows[i]]++, "a row twice");
    check(verdicts[rows[i]].refusal == SES_CORE_ACCEPTED, "a refused row");
  }
}

/* Every array is as long as it must be and no longer, on the heap, for the sanitizer to see. */
static void ask(void) {
  size_t count = number() % MAX_ROWS;
  struct ses_core_element *elements = malloc(count * sizeof *elements + 1);
  struct ses_core_sample *samples = malloc(count * sizeof *samples + 1);
  struct ses_core_verdict *verdicts = malloc(count * sizeof *verdicts + 1);
  struct ses_core_offer *offers = malloc(count * sizeof *offers + 1);
  uint32_t *claims = malloc(count * sizeof *claims + 8);
  uint32_t *scratch = malloc(count * sizeof *scratch + 1);
  size_t words = (count + 63) / 64;
  uint64_t *excluded = malloc(words * sizeof *excluded + 1);
  size_t most = number() % (MAX_ROWS + 2);
  uint32_t *rows = malloc(most * sizeof *rows + 1);
  struct ses_core_need need;
  struct ses_core_policy policy;
  fill(elements, count * sizeof *elements);
  fill(samples, count * sizeof *samples);
  fill(claims, count * sizeof *claims);
  fill(excluded, words * sizeof *excluded);
  fill(&need, sizeof need);
  fill(&policy, sizeof policy);
  if (number() % 2)
    ses_core_defaults(&policy);
  if (number() % 2)
    need.count %= SES_REQUIREMENTS_MAX + 1;
  for (size_t i = 0; i < count && number() % 4; i++)
    elements[i].state &= SES_CORE_DEGRADED | SES_CORE_SCARCE;
  struct ses_core_query query = {.need = &need,
                                 .policy = &policy,
                                 .elements = elements,
                                 .claims = number() % 2 ? claims : NULL,
                                 .excluded = number() % 4 ? NULL : excluded,
                                 .count = count,
                                 .candidate_limit = number() % 3 ? 0 : number() % MAX_ROWS};
  if (number() % 2)
    ses_core_observe_all(elements, samples, count, &policy);
  ses_core_predict_all(&query, offers);
  int chosen = ses_core_choose(&query, verdicts);
  check(chosen < (int)count, "a choice that is not there");
  size_t ranked = ses_core_rank(&query, verdicts, rows, most);
  check_rows(rows, ranked, most, &query, verdicts);
  check((most == 0 || ranked > 0) == (most == 0 || chosen >= 0), "a choice or an order, not both");
  check(ranked == 0 || rows[0] == (uint32_t)chosen, "a choice that is not the first");
  enum ses_core_cause cause;
  size_t stripes = ses_core_stripe(&query, verdicts, scratch, rows, most, &cause);
  check_rows(rows, stripes, most, &query, verdicts);
  check(stripes == 0 || rows[0] == (uint32_t)chosen, "a first stripe that is not the choice");
  check(ses_core_judge(&query, verdicts) <= count, "more accepted than there are");
  free(elements), free(samples), free(verdicts), free(offers), free(claims);
  free(scratch), free(excluded), free(rows);
}

int main(int argc, char **argv) {
  if (argc != 3)
    return 2;
  state = strtoull(argv[1], NULL, 10) * 2 + 1;
  for (long left = strtol(argv[2], NULL, 10); left > 0; left--)
    ask();
  return 0;
}
