#include "rules_segment.h"

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <sys/shm.h>

#include "clock.h"
#include "settings.h"
#include "sys.h"

#define PAUSE_MS 1000u
#define PERMISSIONS 0777u
#define MOST_ATTACHED 64u /* by one process: agents that came one after the other */

static _Atomic(const struct ses_rules *) in_force;
static _Atomic uint32_t maker; /* who made what is in force */
static _Atomic uint64_t next_try_ms;
static _Atomic unsigned attached;

static bool is_trusted(int id, uint32_t user, uint32_t *by) {
  struct shmid_ds found;
  if (ses_sys3(SYS_shmctl, id, IPC_STAT, ses_address(&found)) != 0)
    return false;
  *by = found.shm_perm.cuid;
  return (*by == 0 || *by == user) && found.shm_perm.uid == *by &&
         (found.shm_perm.mode & PERMISSIONS) == 0644 && found.shm_segsz == sizeof(struct ses_rules);
}

static bool is_alive(const struct ses_rules *rules) {
  return __atomic_load_n(&rules->state, __ATOMIC_ACQUIRE) == SES_PLAN_ALIVE;
}

static bool is_rules(const struct ses_rules *rules, uint64_t socket_hash) {
  return is_alive(rules) && rules->magic == SES_RULES_MAGIC &&
         rules->version == SES_RULES_VERSION && rules->size == sizeof *rules &&
         rules->socket_hash == socket_hash && !rules->include[sizeof rules->include - 1] &&
         !rules->exclude[sizeof rules->exclude - 1] && !rules->programs[sizeof rules->programs - 1];
}

/* As with a plan: only the second look, at what is held by being attached, counts. */
static const struct ses_rules *attach(uint32_t user) {
  uint64_t socket_hash = ses_plan_hash(ses_settings()->agent.sun_path);
  uint32_t by = 0;
  int id = (int)ses_sys3(SYS_shmget, ses_plan_key(socket_hash, SES_RULES_UID), 0, 0);
  if (id < 0 || !is_trusted(id, user, &by) ||
      atomic_load_explicit(&attached, memory_order_relaxed) >= MOST_ATTACHED)
    return NULL;
  long address = ses_sys3(SYS_shmat, id, 0, SHM_RDONLY);
  if (address < 0 && address > -4096)
    return NULL;
  const struct ses_rules *rules = (const struct ses_rules *)(intptr_t)address;
  if (!is_trusted(id, user, &by) || !is_rules(rules, socket_hash)) {
    ses_sys2(SYS_shmdt, address, 0);
    return NULL;
  }
  atomic_fetch_add_explicit(&attached, 1, memory_order_relaxed);
  atomic_store_explicit(&maker, by, memory_order_relaxed);
  atomic_store_explicit(&in_force, rules, memory_order_release);
  return rules;
}

const struct ses_rules *ses_rules_segment(void) {
  const struct ses_rules *rules = atomic_load_explicit(&in_force, memory_order_acquire);
  if (rules && is_alive(rules)) {
    uint32_t by = atomic_load_explicit(&maker, memory_order_relaxed);
    return by == 0 || by == (uint32_t)ses_sys0(SYS_geteuid) ? rules : NULL;
  }
  uint64_t next = atomic_load_explicit(&next_try_ms, memory_order_relaxed);
  uint64_t now = ses_clock_ms();
  if (now < next ||
      !atomic_compare_exchange_strong_explicit(&next_try_ms, &next, now + PAUSE_MS,
                                               memory_order_relaxed, memory_order_relaxed))
    return NULL;
  return attach((uint32_t)ses_sys0(SYS_geteuid));
}
