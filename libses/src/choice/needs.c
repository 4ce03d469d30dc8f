#include "choice/needs.h"

#include <stddef.h>
#include <string.h>

#include "runtime/cache.h"
#include "ses/sequence.h"

#define BYTES_IN_MB 1e6
#define BYTES_IN_GB 1e9

_Static_assert((int)SES_KIND_CURRENT_READ_RATE == (int)SES_CORE_CURRENT_READ &&
                   (int)SES_KIND_AVERAGE_READ_RATE == (int)SES_CORE_AVERAGE_READ &&
                   (int)SES_KIND_CURRENT_WRITE_RATE == (int)SES_CORE_CURRENT_WRITE &&
                   (int)SES_KIND_AVERAGE_WRITE_RATE == (int)SES_CORE_AVERAGE_WRITE &&
                   (int)SES_KIND_FREE_CAPACITY == (int)SES_CORE_FREE,
               "kinds have the same numbers on the socket and in the core");

static uint64_t load(const uint64_t *at) { return __atomic_load_n(at, __ATOMIC_ACQUIRE); }

/* The first entry is for applications without one of their own. */
static bool is_about(const struct ses_claims *claims, unsigned number, uint64_t application,
                     uint32_t *sequence) {
  const struct ses_claims_need *entry = &claims->needs[number];
  *sequence = ses_sequence_of(&entry->sequence);
  bool about = number == 0 || load(&entry->application_hash) == application;
  return about && ses_sequence_is_whole(*sequence) &&
         ses_sequence_is_same(&entry->sequence, *sequence);
}

enum outcome { FOUND_NONE, FOUND_ONE, FOUND_CHANGING };

static enum outcome search(const struct ses_claims *claims, uint64_t application, unsigned *entry) {
  uint32_t sequence = 0;
  for (*entry = 1; *entry < SES_CLAIMS_NEEDS; (*entry)++) {
    if (is_about(claims, *entry, application, &sequence))
      return FOUND_ONE;
    if (sequence == 0)
      break;
    if (sequence % 2 != 0) /* it may become the application's own */
      return FOUND_CHANGING;
  }
  *entry = 0;
  bool is_entry = is_about(claims, 0, application, &sequence);
  return is_entry ? FOUND_ONE : sequence % 2 != 0 ? FOUND_CHANGING : FOUND_NONE;
}

/* The place of an entry is remembered until the agent marks a change. */
bool ses_needs_find(const struct ses_claims *claims, uint64_t application, unsigned *entry) {
  static struct ses_cache cache; /* of generation, entry and enum outcome: 48, 8 and 8 bits */
  uint64_t generation = load(&claims->head.generation) << 16;
  uint64_t key = ses_cache_mix((uint64_t)(uintptr_t)claims ^ application) | 1;
  uint64_t seen = 0;
  uint32_t sequence = 0;
  if (ses_cache_get(&cache, key, &seen) && (seen & ~UINT64_C(0xffff)) == generation) {
    *entry = (unsigned)(seen >> 8) % SES_CLAIMS_NEEDS;
    if ((seen & 0xff) == FOUND_NONE)
      return false;
    if (is_about(claims, *entry, application, &sequence))
      return true;
  }
  enum outcome result = search(claims, application, entry);
  if (result == FOUND_CHANGING)
    return false;
  ses_cache_put(&cache, key, generation | *entry << 8 | result);
  return result == FOUND_ONE;
}

bool ses_needs_read(const struct ses_claims *claims, unsigned entry, uint64_t application,
                    struct ses_core_need *need, uint64_t *digest) {
  const struct ses_claims_need *from = &claims->needs[entry];
  uint32_t sequence = 0;
  if (!is_about(claims, entry, application, &sequence))
    return false;
  memcpy(need, &from->need, sizeof *need);
  *digest = load(&from->digest);
  return ses_sequence_is_same(&from->sequence, sequence);
}

uint32_t ses_needs_merge(struct ses_core_need *need, const struct ses_core_need *entry,
                         const struct ses_wire_requirement *stated, unsigned count) {
  struct ses_core_requirement own[SES_REQUIREMENTS_MAX];
  unsigned known = 0;
  for (unsigned i = 0; i < count && known < SES_REQUIREMENTS_MAX; i++) {
    if (stated[i].kind < SES_KIND_CURRENT_READ_RATE || stated[i].kind > SES_KIND_FREE_CAPACITY)
      continue;
    double unit = stated[i].kind == SES_KIND_FREE_CAPACITY ? BYTES_IN_GB : BYTES_IN_MB;
    own[known++] = (struct ses_core_requirement){.kind = stated[i].kind,
                                                 .hard = stated[i].hard != 0,
                                                 .bound = stated[i].minimum * unit,
                                                 .weight = stated[i].weight};
  }
  return ses_core_merge(need, own, known, entry);
}
