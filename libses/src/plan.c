#include "plan.h"

#include <string.h>

#include "answer.h"
#include "clock.h"
#include "plan_segment.h"
#include "recall.h"
#include "self.h"

#define TAKE_TRIES 64  /* each lost to another program that got the ticket */
#define CLAIM_TRIES 64 /* each a slot that is not free */

/* From here on the compiler uses the private copies, not what they were copied from. */
#define COPIES_MADE() __atomic_signal_fence(__ATOMIC_SEQ_CST)

static uint64_t load(const uint64_t *at) { return __atomic_load_n(at, __ATOMIC_ACQUIRE); }

static bool move(uint64_t *at, uint64_t from, uint64_t to) {
  return __atomic_compare_exchange_n(at, &from, to, false, __ATOMIC_ACQ_REL, __ATOMIC_RELAXED);
}

static uint32_t sequence_of(const struct ses_plan_entry *entry) {
  return __atomic_load_n(&entry->sequence, __ATOMIC_ACQUIRE);
}

/* Entry NUMBER into SPOT if it is about ABOUT and the device. */
static bool is_about(struct ses_plan_spot *spot, unsigned number, uint64_t about, unsigned major,
                     unsigned minor) {
  const struct ses_plan_entry *entry = &spot->plan->entries[number];
  uint32_t sequence = sequence_of(entry);
  bool found = sequence % 2 == 0 && sequence != 0 && load(&entry->about_hash) == about &&
               __atomic_load_n(&entry->device_major, __ATOMIC_ACQUIRE) == major &&
               __atomic_load_n(&entry->device_minor, __ATOMIC_ACQUIRE) == minor;
  spot->entry = number;
  spot->sequence = sequence;
  return found && sequence_of(entry) == sequence;
}

enum found { FOUND_NONE, FOUND_OWN, FOUND_DEFAULT, FOUND_CHANGING };

/* By looking through all entries: the program's own before the default one. */
static enum found search(struct ses_plan_spot *spot, uint64_t about, bool or_default,
                         unsigned major, unsigned minor) {
  const uint64_t wanted[] = {about, ses_plan_hash("")};
  for (unsigned i = 0; i < (or_default ? 2 : 1); i++)
    for (unsigned number = 0; number < SES_PLAN_ENTRIES; number++) {
      if (is_about(spot, number, wanted[i], major, minor))
        return i == 0 ? FOUND_OWN : FOUND_DEFAULT;
      if (spot->sequence == 0)
        break;
      if (spot->sequence % 2 != 0) /* it may become the program's own */
        return FOUND_CHANGING;
    }
  return FOUND_NONE;
}

/* Where an entry was found is remembered until the agent says that something has changed. */
bool ses_plan_find(struct ses_plan_spot *spot, uint64_t about, bool or_default, unsigned major,
                   unsigned minor) {
  static struct ses_recall recall; /* of generation, entry and enum found: 48, 8 and 8 bits */
  spot->plan = ses_plan_segment();
  if (!spot->plan)
    return false;
  uint64_t generation = load(&spot->plan->head.generation) << 16;
  uint64_t key = ses_recall_mix(ses_recall_mix((uint64_t)(uintptr_t)spot->plan ^ about) ^
                                ((uint64_t)major << 32 | minor));
  uint64_t seen = 0;
  if (ses_recall_get(&recall, key, &seen) && (seen & ~UINT64_C(0xffff)) == generation) {
    if ((seen & 0xff) == FOUND_NONE)
      return false;
    uint64_t wanted = (seen & 0xff) == FOUND_OWN ? about : ses_plan_hash("");
    if (is_about(spot, (unsigned)(seen >> 8) % SES_PLAN_ENTRIES, wanted, major, minor))
      return true;
  }
  enum found found = search(spot, about, or_default, major, minor);
  if (found == FOUND_CHANGING)
    return false;
  ses_recall_put(&recall, key, generation | spot->entry << 8 | found);
  return found != FOUND_NONE;
}

/* How many tickets can be taken from TAKEN on; what cannot be true counts as none. */
static uint64_t stock(const struct ses_plan_entry *entry, uint64_t taken) {
  uint64_t left = load(&entry->filled) - taken;
  return left <= SES_PLAN_TICKETS ? left : 0;
}

bool ses_plan_has(const struct ses_plan_spot *spot) {
  const struct ses_plan_entry *entry = &spot->plan->entries[spot->entry];
  return stock(entry, load(&entry->taken)) > 0;
}

void ses_plan_missed(const struct ses_plan_spot *spot) {
  __atomic_fetch_add(&spot->plan->entries[spot->entry].missed, 1, __ATOMIC_RELAXED);
}

/* Lustre: the list of OSTs; false: some element makes no sense. */
static bool read_osts(const struct ses_plan *plan, const struct ses_plan_ticket *ticket,
                      struct ses_answer *answer) {
  answer->ost_count = ticket->element_count;
  for (unsigned i = 0; i < ticket->element_count; i++) {
    if (ticket->elements[i] >= SES_PLAN_ELEMENTS)
      return false;
    const struct ses_plan_element *element = &plan->elements[ticket->elements[i]];
    uint32_t index = __atomic_load_n(&element->index, __ATOMIC_RELAXED);
    if (index > UINT16_MAX)
      return false;
    answer->osts[i] = (uint16_t)index;
  }
  return true;
}

/* The elements of TICKET into ANSWER; false: they make no sense. */
static bool read_elements(const struct ses_plan *plan, const struct ses_plan_ticket *ticket,
                          struct ses_answer *answer) {
  if (ticket->elements[0] >= SES_PLAN_ELEMENTS)
    return false;
  const struct ses_plan_element *first = &plan->elements[ticket->elements[0]];
  answer->backend = __atomic_load_n(&first->backend, __ATOMIC_RELAXED);
  memcpy(answer->element, first->element, sizeof answer->element);
  if (answer->backend == SES_BACKEND_LUSTRE) {
    answer->lustre_form = __atomic_load_n(&first->lustre_form, __ATOMIC_RELAXED);
    memcpy(answer->pool, first->pool, sizeof answer->pool);
    if (!read_osts(plan, ticket, answer))
      return false;
  } else {
    memcpy(answer->stage, first->stage, sizeof answer->stage);
    memcpy(answer->stage_in_union, first->stage_in_union, sizeof answer->stage_in_union);
  }
  COPIES_MADE();
  return true;
}

/* What the ticket in SLOT says into ANSWER; false: it is expired, or makes no sense. */
static __attribute__((noinline)) bool read_ticket(const struct ses_plan *plan,
                                                  const struct ses_plan_ticket *slot,
                                                  struct ses_answer *answer) {
  struct ses_plan_ticket ticket;
  memcpy(&ticket, slot, sizeof ticket);
  COPIES_MADE();
  if (ticket.element_count == 0 || ticket.element_count > SES_PLAN_STRIPES ||
      ticket.expires_ms <= ses_clock_ms())
    return false;
  answer->placement_id = ticket.placement_id;
  answer->distance = ticket.distance;
  answer->stripe_size = ticket.stripe_size;
  answer->stripe_count = ticket.stripe_count;
  answer->status = SES_ANSWER_PLACE;
  return read_elements(plan, &ticket, answer) && ses_answer_is_placement(answer);
}

static __attribute__((noinline)) bool claim_slot(struct ses_plan *plan,
                                                 struct ses_plan_claim *claim) {
  for (unsigned i = 0; i < CLAIM_TRIES; i++) {
    uint64_t number = load(&plan->head.claimed);
    claim->report = &plan->reports[number % SES_PLAN_REPORTS];
    claim->state = 2 * number + 1;
    bool free = load(&claim->report->state) == 0 && move(&claim->report->state, 0, claim->state);
    move(&plan->head.claimed, number, number + 1); /* or somebody else has, which is as well */
    if (free)
      return true;
  }
  return false;
}

bool ses_plan_take(const struct ses_plan_spot *spot, struct ses_plan_claim *claim,
                   struct ses_answer *answer) {
  struct ses_plan *plan = spot->plan;
  struct ses_plan_entry *entry = &plan->entries[spot->entry];
  if (!ses_plan_has(spot) || !claim_slot(plan, claim))
    return false;
  for (unsigned i = 0; i < TAKE_TRIES; i++) {
    uint64_t taken = load(&entry->taken);
    if (stock(entry, taken) == 0 || sequence_of(entry) != spot->sequence)
      break;
    bool sound = read_ticket(plan, &plan->tickets[spot->entry][taken % SES_PLAN_TICKETS], answer);
    if (sound && move(&entry->taken, taken, taken + 1)) {
      claim->report->placement_id = answer->placement_id;
      return true;
    }
    if (!sound && load(&entry->taken) == taken)
      break;
  }
  move(&claim->report->state, claim->state, 0);
  return false;
}

void ses_plan_begin(const struct ses_plan_claim *claim, int dirfd, const char *path, size_t length,
                    const char *application) {
  struct ses_plan_report *report = claim->report;
  size_t name = strnlen(application, sizeof report->application - 1);
  if (length >= sizeof report->path)
    length = 0;
  report->dirfd = dirfd;
  report->pid = ses_self_pid();
  report->path_length = (uint32_t)length;
  memcpy(report->path, path, length);
  report->path[length] = '\0';
  memcpy(report->application, application, name);
  report->application[name] = '\0';
}

void ses_plan_report(struct ses_plan_claim *claim, const struct ses_plan_end *end) {
  struct ses_plan_report *report = claim->report;
  if (load(&report->state) != claim->state) /* it took minutes: the slot is somebody else's */
    return;
  report->device = end->device;
  report->inode = end->inode;
  report->directory_device = end->directory_device;
  report->directory_inode = end->directory_inode;
  report->outcome = end->outcome;
  report->error = end->error;
  report->fd = end->fd;
  move(&report->state, claim->state, claim->state + 1);
}
