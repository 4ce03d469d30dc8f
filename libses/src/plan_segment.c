#include "plan_segment.h"

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <sys/shm.h>

#include "clock.h"
#include "settings.h"
#include "sys.h"

#define SEGMENTS 8u
#define PAUSE_MS 1000u
#define PERMISSIONS 0777u

/* Taken for good by who sets `user`; in use from when `plan` is set. */
static struct {
  _Atomic uint64_t user; /* the effective user plus one; 0: free */
  _Atomic int id;
  _Atomic(struct ses_plan *) plan;
} segments[SEGMENTS];

static _Atomic uint64_t next_try_ms;

/* Everything in a segment may change under the reader, so each word is read once. */
static uint32_t word(const uint32_t *at) { return __atomic_load_n(at, __ATOMIC_ACQUIRE); }

static bool is_alive(const struct ses_plan *plan) {
  uint64_t heartbeat = __atomic_load_n(&plan->head.heartbeat_ms, __ATOMIC_ACQUIRE);
  /* The clock read here may be a tick behind the one the heartbeat was taken from. */
  uint64_t age = ses_clock_ms() + SES_PLAN_STALE_MS - heartbeat;
  return word(&plan->head.state) == SES_PLAN_ALIVE && age < 2 * (uint64_t)SES_PLAN_STALE_MS;
}

static bool is_owned(int id, uint32_t user) {
  struct shmid_ds found;
  if (ses_sys3(SYS_shmctl, id, IPC_STAT, ses_address(&found)) != 0)
    return false;
  return (found.shm_perm.cuid == 0 || found.shm_perm.cuid == user) && found.shm_perm.uid == user &&
         (found.shm_perm.mode & PERMISSIONS) == 0600 && found.shm_segsz == sizeof(struct ses_plan);
}

static bool is_plan(const struct ses_plan *plan, uint64_t socket_hash) {
  const struct ses_plan_head *head = &plan->head;
  return word(&head->magic) == SES_PLAN_MAGIC && head->version == SES_PLAN_VERSION &&
         head->head_size == sizeof *head && head->size == sizeof *plan &&
         head->socket_hash == socket_hash;
}

static bool is_known(int id, uint32_t user) {
  for (unsigned i = 0; i < SEGMENTS; i++)
    if (atomic_load_explicit(&segments[i].user, memory_order_relaxed) == (uint64_t)user + 1 &&
        atomic_load_explicit(&segments[i].id, memory_order_relaxed) == id)
      return true;
  return false;
}

static bool remember(struct ses_plan *plan, int id, uint32_t user) {
  for (unsigned i = 0; i < SEGMENTS; i++) {
    uint64_t nobody = 0;
    if (!atomic_compare_exchange_strong_explicit(&segments[i].user, &nobody, (uint64_t)user + 1,
                                                 memory_order_relaxed, memory_order_relaxed))
      continue;
    atomic_store_explicit(&segments[i].id, id, memory_order_relaxed);
    atomic_store_explicit(&segments[i].plan, plan, memory_order_release);
    return true;
  }
  return false;
}

/* What a number of this kind names may become another segment; only the second look, at one that
 * is held by being attached, counts. */
static struct ses_plan *attach(uint32_t user) {
  uint64_t socket_hash = ses_plan_hash(ses_settings()->agent.sun_path);
  int id = (int)ses_sys3(SYS_shmget, ses_plan_key(socket_hash, user), 0, 0);
  if (id < 0 || is_known(id, user) || !is_owned(id, user))
    return NULL;
  long address = ses_sys3(SYS_shmat, id, 0, 0);
  if (address < 0 && address > -4096)
    return NULL;
  struct ses_plan *plan = (struct ses_plan *)(intptr_t)address;
  if (is_owned(id, user) && is_plan(plan, socket_hash) && remember(plan, id, user))
    return plan;
  ses_sys2(SYS_shmdt, address, 0);
  return NULL;
}

static struct ses_plan *try_attach(uint32_t user) {
  uint64_t next = atomic_load_explicit(&next_try_ms, memory_order_relaxed);
  uint64_t now = ses_clock_ms();
  if (now < next ||
      !atomic_compare_exchange_strong_explicit(&next_try_ms, &next, now + PAUSE_MS,
                                               memory_order_relaxed, memory_order_relaxed))
    return NULL;
  struct ses_plan *plan = attach(user);
  return plan && is_alive(plan) ? plan : NULL;
}

struct ses_plan *ses_plan_segment(void) {
  /* Asked each time: a thread may have become another user, whose files are not to be made by what
   * the former one can write. */
  uint32_t user = (uint32_t)ses_sys0(SYS_geteuid);
  for (unsigned i = 0; i < SEGMENTS; i++) {
    uint64_t owner = atomic_load_explicit(&segments[i].user, memory_order_relaxed);
    struct ses_plan *plan = atomic_load_explicit(&segments[i].plan, memory_order_acquire);
    if (owner == 0)
      break;
    if (owner == (uint64_t)user + 1 && plan && is_alive(plan))
      return plan;
  }
  return try_attach(user);
}

bool ses_plan_may_be(void) {
  return atomic_load_explicit(&segments[0].plan, memory_order_relaxed) ||
         ses_clock_ms() >= atomic_load_explicit(&next_try_ms, memory_order_relaxed);
}
