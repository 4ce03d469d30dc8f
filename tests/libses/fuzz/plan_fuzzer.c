/*
 * plan_fuzzer ROUNDS SEED: read plans that are damaged at random, and plans
 * that another thread damages meanwhile.
 *
 * Every round starts from a sound plan, changes some of its words or bytes,
 * and takes tickets.  What must hold, whatever is in there: nothing outside
 * the plan is touched (the sanitizers see to that), every call comes back,
 * and a ticket that is taken is one an agent could have given.
 *
 * The segment is ordinary memory here; plan_segment.c is not part of it.
 */
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "answer.h"
#include "clock.h"
#include "plan.h"
#include "plan_segment.h"
#include "settings.h"

#define MAJOR 0u
#define MINOR 77u

static struct ses_plan plan;
static atomic_bool ended;

struct ses_plan *ses_plan_segment(void) {
  return &plan;
}
bool ses_plan_may_be(void) { return true; }

static uint64_t next(uint64_t *seed) {
  *seed ^= *seed << 13;
  *seed ^= *seed >> 7;
  *seed ^= *seed << 17;
  return *seed;
}

static void fill_entry(unsigned number, const char *application, uint64_t generation) {
  struct ses_plan_entry *entry = &plan.entries[number];
  memset(entry, 0, sizeof *entry);
  entry->sequence = 2;
  entry->device_major = MAJOR;
  entry->device_minor = MINOR;
  entry->about_hash = ses_plan_hash(application);
  entry->filled = 8;
  for (unsigned i = 0; i < 8; i++) {
    struct ses_plan_ticket *ticket = &plan.tickets[number][i];
    *ticket = (struct ses_plan_ticket){.placement_id = generation * 8 + i + 1,
                                       .expires_ms = ses_clock_ms() + 100000,
                                       .element_count = (uint16_t)(1 + i % 2)};
    ticket->elements[0] = (uint16_t)(i % 4);
    ticket->elements[1] = (uint16_t)((i + 1) % 4);
  }
}

static void fill(uint64_t generation) {
  fill_entry(0, "", generation);
  fill_entry(1, "dd", generation + 1);
  memset(&plan.entries[2], 0, sizeof plan.entries[2]);
  for (unsigned i = 0; i < 4; i++) {
    struct ses_plan_element *element = &plan.elements[i];
    *element =
        (struct ses_plan_element){.backend = i < 2 ? SES_BACKEND_MERGERFS : SES_BACKEND_LUSTRE,
                                  .index = i,
                                  .lustre_form = SES_LUSTRE_LIST,
                                  .element = "site/one",
                                  .pool = "flash",
                                  .stage = "/branch/.ses/1000",
                                  .stage_in_union = "/union/.ses/1000"};
  }
  plan.head.generation = generation;
  memset(plan.reports, 0, 64 * sizeof plan.reports[0]);
  plan.head.claimed = generation % 32;
}

static const uint64_t telling[] = {0,
                                   1,
                                   2,
                                   3,
                                   14,
                                   15,
                                   255,
                                   1023,
                                   1024,
                                   4095,
                                   65535,
                                   1u << 31,
                                   UINT32_MAX,
                                   UINT64_MAX,
                                   UINT64_MAX - 1,
                                   INT64_MAX,
                                   0x7ff0000000000000u,
                                   0x7ff8000000000000u,
                                   0x2f2f2f2f2f2f2f2fu,
                                   0x2e2e2f2e2e2f2e2eu};

/* Change a word or a byte where the reader looks. */
static void damage(uint64_t *seed) {
  static const struct {
    void *at;
    size_t size;
  } places[] = {
      {&plan.head, 64},
      {plan.entries, 3 * sizeof plan.entries[0]},
      {plan.elements, 4 * sizeof plan.elements[0]},
      {plan.tickets[0], 8 * sizeof plan.tickets[0][0]},
      {plan.tickets[1], 8 * sizeof plan.tickets[0][0]},
      {plan.reports, 64 * sizeof plan.reports[0]},
  };
  unsigned which = (unsigned)(next(seed) % (sizeof places / sizeof places[0]));
  size_t at = next(seed) % places[which].size;
  unsigned char *base = places[which].at;
  switch (next(seed) % 3) {
  case 0:
    base[at] = (unsigned char)next(seed);
    break;
  case 1:
    memcpy(base + at / 8 * 8, &telling[next(seed) % (sizeof telling / sizeof telling[0])], 8);
    break;
  default:
    memcpy(base + at / 2 * 2, &telling[next(seed) % (sizeof telling / sizeof telling[0])], 2);
    break;
  }
}

static void *keep_damaging(void *argument) {
  uint64_t seed = (uint64_t)(uintptr_t)argument;
  while (!atomic_load(&ended))
    damage(&seed);
  return NULL;
}

static void require(bool holds, const char *what) {
  if (holds)
    return;
  fprintf(stderr, "broken: %s\n", what);
  abort();
}

/* Take until there is nothing left, at most as often as there are tickets. */
static unsigned take_all(const char *application) {
  struct ses_plan_spot spot;
  unsigned taken = 0;
  if (!ses_plan_find(&spot, ses_plan_hash(application), true, MAJOR, MINOR))
    return 0;
  require(spot.entry < SES_PLAN_ENTRIES, "the entry is one of those there are");
  while (taken < 10) {
    struct ses_plan_claim claim;
    struct ses_answer answer;
    memset(&answer, 0xa5, sizeof answer);
    if (!ses_plan_take(&spot, &claim, &answer))
      break;
    taken++;
    require(ses_answer_is_placement(&answer), "a taken ticket is a placement");
    require(answer.backend != SES_BACKEND_LUSTRE || answer.ost_count >= 1, "it has elements");
    ses_plan_begin(&claim, -100, "/union/some/file", 16, application);
    struct ses_plan_end end = {.outcome = SES_OUTCOME_CREATED, .device = 1, .inode = 2, .fd = 3};
    ses_plan_report(&claim, &end);
  }
  if (taken == 0)
    ses_plan_missed(&spot);
  return taken;
}

int main(int argc, char **argv) {
  if (argc != 3)
    return 2;
  unsigned long rounds = strtoul(argv[1], NULL, 0);
  uint64_t seed = strtoull(argv[2], NULL, 0) | 1;
  unsigned long taken = 0;
  for (unsigned long round = 0; round < rounds; round++) {
    fill(2 * round + 1);
    for (uint64_t i = next(&seed) % 6; i > 0; i--)
      damage(&seed);
    taken += take_all("dd");
    taken += take_all("tar");
  }
  printf("%lu tickets of damaged plans\n", taken);
  require(taken > rounds, "some tickets survive");

  pthread_t thread;
  if (pthread_create(&thread, NULL, keep_damaging, (void *)(uintptr_t)(seed | 1)) != 0)
    return 2;
  for (unsigned long round = 0; round < rounds; round++) {
    fill(2 * round + 2);
    take_all("dd");
    take_all("tar");
  }
  atomic_store(&ended, true);
  pthread_join(thread, NULL);
  return 0;
}
