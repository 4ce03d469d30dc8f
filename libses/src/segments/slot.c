#include "segments/slot.h"

#include <string.h>

#define TRIES 64 /* each a slot that is not free */

static uint64_t load(const uint64_t *at) { return __atomic_load_n(at, __ATOMIC_ACQUIRE); }

/* In one order with the word that says whether the agent sleeps: see ses/claims.h. */
static bool move(uint64_t *at, uint64_t from, uint64_t to) {
  return __atomic_compare_exchange_n(at, &from, to, false, __ATOMIC_SEQ_CST, __ATOMIC_RELAXED);
}

bool ses_slot_take(const struct ses_claims_of *of, struct ses_slot *slot) {
  struct ses_claims *claims = of->claims;
  for (unsigned i = 0; i < TRIES; i++) {
    uint64_t number = load(&claims->head.next);
    slot->claim = &claims->claims[number % SES_CLAIMS_SLOTS];
    slot->state = 2 * number + 1;
    bool free = load(&slot->claim->state) == 0 && move(&slot->claim->state, 0, slot->state);
    move(&claims->head.next, number, number + 1); /* or somebody else has, which is as well */
    if (free) {
      slot->claim->row_count = 0;
      slot->claim->path_length = 0;
      slot->placement_id = ses_claims_id(of->instance, number);
      return true;
    }
  }
  return false;
}

void ses_slot_give_back(const struct ses_slot *slot) { move(&slot->claim->state, slot->state, 0); }

void ses_slot_describe(const struct ses_slot *slot, int dirfd, const char *path, size_t length,
                       const char *application, int pid) {
  struct ses_claim *claim = slot->claim;
  size_t name = strnlen(application, sizeof claim->application - 1);
  if (length >= sizeof claim->path)
    length = 0;
  claim->dirfd = dirfd;
  claim->pid = pid;
  claim->path_length = (uint32_t)length;
  memcpy(claim->path, path, length);
  claim->path[length] = '\0';
  memcpy(claim->application, application, name);
  claim->application[name] = '\0';
}

void ses_slot_complete(const struct ses_slot *slot, const struct ses_slot_end *end) {
  struct ses_claim *claim = slot->claim;
  if (load(&claim->state) != slot->state) /* it took minutes: the slot is somebody else's */
    return;
  claim->device = end->device;
  claim->inode = end->inode;
  claim->directory_device = end->directory_device;
  claim->directory_inode = end->directory_inode;
  claim->outcome = end->outcome;
  claim->error = end->error;
  claim->fd = end->fd;
  move(&claim->state, slot->state, slot->state + 1);
}
