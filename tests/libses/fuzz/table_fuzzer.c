/*
 * table_fuzzer ROUNDS SEED: choose from tables and claims that are damaged at
 * random, and from such as another thread damages meanwhile.
 *
 * Every round starts from a sound table and sound claims, changes some of their
 * words or bytes, and chooses.  What must hold, whatever is in there: nothing
 * outside of both is touched (the sanitizers see to that), every call comes
 * back, and a choice is one an agent could have answered.
 *
 * The segments are ordinary memory here; finding them is not part of it.
 */
#include <fcntl.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "backends/answer.h"
#include "choice/choose.h"
#include "segments/claims_segment.h"
#include "segments/published.h"
#include "settings/settings.h"

#define MAJOR 0u
#define MINOR 77u
#define ROWS 24u
#define SYSTEMS 2u /* the second one is of Lustre */
#define INSTANCE 99u

static struct ses_table *table; /* by themselves, so that it is seen when they are left */
static struct ses_claims *claims;
static atomic_bool ended;

const struct ses_table *ses_table_segment(void) { return table; }
bool ses_table_may_be(void) { return true; }

bool ses_claims_segment(const struct ses_table *of_table, struct ses_claims_of *of) {
  *of = (struct ses_claims_of){claims, INSTANCE, 1000};
  return of_table == table;
}

static uint64_t next(uint64_t *seed) {
  *seed ^= *seed << 13;
  *seed ^= *seed >> 7;
  *seed ^= *seed << 17;
  return *seed;
}

static void fill_system(struct ses_table_system *system, enum ses_backend backend) {
  system->sequence = 2;
  system->backend = backend;
  system->count = ROWS;
  system->candidate_limit = 0;
  system->excluded = 0;
  ses_core_defaults(&system->policy);
  system->policy.max_stripes = 8;
  for (unsigned row = 0; row < ROWS; row++) {
    system->elements[row] = (struct ses_core_element){.read_rate = 1e8,
                                                      .write_rate = 1e8,
                                                      .size = 1e12,
                                                      .free = 9e11,
                                                      .server_rate = __builtin_nan(""),
                                                      .server = row / 3};
    system->places[row] = (struct ses_table_place){.index = row,
                                                   .lustre_form = SES_LUSTRE_LIST,
                                                   .element = "site/one",
                                                   .pool = "flash",
                                                   .branch = "/branch"};
  }
}

static void fill(uint64_t round) {
  table->head.mounts = SYSTEMS;
  for (unsigned i = 0; i < SYSTEMS; i++) {
    table->mounts[i] = (struct ses_table_mount){
        .device_major = MAJOR, .device_minor = MINOR + i, .system = i, .mount_point = "/union"};
    fill_system(&table->systems[i], i == 0 ? SES_BACKEND_MERGERFS : SES_BACKEND_LUSTRE);
    claims->head.staged[i] = UINT64_MAX;
  }
  memset(claims->claimed, 0, sizeof claims->claimed);
  memset(claims->counted, 0, sizeof claims->counted);
  memset(claims->needs, 0, 3 * sizeof claims->needs[0]);
  for (unsigned i = 0; i < 2; i++) {
    struct ses_claims_need *entry = &claims->needs[i];
    entry->application_hash = ses_segment_hash(i == 0 ? "" : "dd");
    entry->digest = round;
    entry->need = (struct ses_core_need){.bytes = -1, .room = -1, .count = 1};
    entry->need.requirements[0] =
        (struct ses_core_requirement){.kind = SES_CORE_CURRENT_WRITE, .bound = 2e8, .weight = 1};
    entry->sequence = 2;
  }
  claims->head.generation = round;
  claims->head.next = round % 32;
  memset(claims->claims, 0, 128 * sizeof claims->claims[0]);
}

static const uint64_t telling[] = {0,
                                   1,
                                   2,
                                   3,
                                   14,
                                   15,
                                   63,
                                   64,
                                   65,
                                   255,
                                   65535,
                                   1u << 31,
                                   UINT32_MAX,
                                   UINT64_MAX,
                                   UINT64_MAX - 1,
                                   INT64_MAX,
                                   0x7ff0000000000000u,
                                   0x7ff8000000000000u,
                                   0xfff0000000000000u,
                                   0x7fefffffffffffffu,
                                   0x7f8000007f800000u,
                                   0x2f2f2f2f2f2f2f2fu,
                                   0x2e2e2f2e2e2f2e2eu};

/* Change a word or a byte where the reader looks. */
static void damage(uint64_t *seed) {
  const struct {
    void *at;
    size_t size;
  } places[] = {
      {&table->head.asleep, 12},
      {table->mounts, SYSTEMS * sizeof table->mounts[0]},
      {&table->systems[0], offsetof(struct ses_table_system, padding)},
      {&table->systems[1], offsetof(struct ses_table_system, padding)},
      {table->systems[0].elements, ROWS * sizeof(struct ses_core_element)},
      {table->systems[1].elements, ROWS * sizeof(struct ses_core_element)},
      {table->systems[0].places, ROWS * sizeof(struct ses_table_place)},
      {table->systems[1].places, ROWS * sizeof(struct ses_table_place)},
      {&claims->head, 128},
      {claims->claimed, 128 * 4},
      {claims->counted, 128 * 4},
      {claims->needs, 3 * sizeof claims->needs[0]},
      {claims->claims, 64 * sizeof claims->claims[0]},
  };
  unsigned which = (unsigned)(next(seed) % (sizeof places / sizeof places[0]));
  size_t at = next(seed) % places[which].size;
  unsigned char *base = places[which].at;
  const uint64_t *word = &telling[next(seed) % (sizeof telling / sizeof telling[0])];
  switch (next(seed) % 4) {
  case 0:
    base[at] = (unsigned char)next(seed);
    break;
  case 1:
    if (at / 8 * 8 + 8 <= places[which].size)
      memcpy(base + at / 8 * 8, word, 8);
    break;
  case 2:
    if (at / 4 * 4 + 4 <= places[which].size)
      memcpy(base + at / 4 * 4, word, 4);
    break;
  default:
    memcpy(base + at / 2 * 2, word, 2);
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

/* A few files of one application on one device. */
static unsigned choose_all(const char *application, unsigned minor, long long size) {
  static const struct ses_wire_requirement own = {
      .kind = SES_KIND_FREE_CAPACITY, .minimum = 1, .weight = 1};
  struct ses_candidates candidates;
  struct ses_stated stated = {.application = ses_segment_hash(application),
                              .requirements = &own,
                              .count = size >= 0,
                              .stripe_count = size >= 0 ? 4 : 0,
                              .expected_bytes = size};
  unsigned chosen = 0;
  if (!ses_candidates_find(&candidates, stated.application, MAJOR, minor))
    return 0;
  require(candidates.system < SES_TABLE_SYSTEMS && candidates.mount < SES_TABLE_MOUNTS &&
              candidates.entry < SES_CLAIMS_NEEDS,
          "what was found is there");
  for (unsigned i = 0; i < 6; i++) {
    struct ses_choice choice;
    struct ses_answer answer;
    memset(&answer, 0xa5, sizeof answer);
    if (!ses_choose(&candidates, &stated, &choice))
      continue;
    require(choice.row_count >= 1 && choice.row_count <= SES_CLAIMS_STRIPES, "it has rows");
    for (unsigned row = 0; row < choice.row_count; row++)
      require(choice.rows[row] < SES_TABLE_ELEMENTS, "they are of the table");
    if (!ses_choice_answer(&candidates, &stated, &choice, &answer))
      continue;
    chosen++;
    require(ses_answer_is_placement(&answer), "a choice is a placement");
    ses_slot_describe(&choice.slot, AT_FDCWD, "/union/some/file", 16, application, 5);
    struct ses_slot_end end = {.outcome = SES_OUTCOME_CREATED, .device = 1, .inode = 2, .fd = 3};
    ses_slot_complete(&choice.slot, &end);
  }
  return chosen;
}

static unsigned choose_everywhere(uint64_t round) {
  long long size = round % 3 == 0 ? -1 : (long long)(round << 20);
  return choose_all("dd", MINOR, size) + choose_all("tar", MINOR, size) +
         choose_all("dd", MINOR + 1, size);
}

int main(int argc, char **argv) {
  if (argc != 3)
    return 2;
  unsigned long rounds = strtoul(argv[1], NULL, 0);
  uint64_t seed = strtoull(argv[2], NULL, 0) | 1;
  unsigned long chosen = 0;
  table = aligned_alloc(128, sizeof *table);
  claims = aligned_alloc(128, sizeof *claims);
  if (!table || !claims)
    return 2;
  memset(table, 0, sizeof *table);
  memset(claims, 0, sizeof *claims);
  for (unsigned long round = 0; round < rounds; round++) {
    fill(2 * round + 1);
    for (uint64_t i = next(&seed) % 8; i > 0; i--)
      damage(&seed);
    chosen += choose_everywhere(round);
  }
  printf("%lu choices from damaged tables\n", chosen);
  require(chosen > rounds, "some tables survive");

  pthread_t thread;
  if (pthread_create(&thread, NULL, keep_damaging, (void *)(uintptr_t)(seed | 1)) != 0)
    return 2;
  for (unsigned long round = 0; round < rounds; round++) {
    fill(2 * round + 2);
    choose_everywhere(round);
  }
  atomic_store(&ended, true);
  pthread_join(thread, NULL);
  free(table);
  free(claims);
  return 0;
}
