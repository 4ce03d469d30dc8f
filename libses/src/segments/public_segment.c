#include "segments/public_segment.h"

#include <sys/shm.h>

#include "runtime/clock.h"
#include "runtime/sys.h"
#include "ses/table.h"
#include "settings/settings.h"

#define PAUSE_MS 1000u
#define PERMISSIONS 0777u
#define MOST_ATTACHED 64u /* by one process: agents that came one after the other */

static bool is_trusted(const struct ses_public_kind *kind, int id, uint32_t user, uint32_t *by) {
  struct shmid_ds seen;
  if (ses_sys3(SYS_shmctl, id, IPC_STAT, ses_address(&seen)) != 0)
    return false;
  *by = seen.shm_perm.cuid;
  return (*by == 0 || *by == user) && seen.shm_perm.uid == *by &&
         (seen.shm_perm.mode & PERMISSIONS) == 0644 && seen.shm_segsz == kind->size;
}

static bool is_known(const struct ses_public_found *found, int id) {
  return atomic_load_explicit(&found->in_force, memory_order_acquire) &&
         atomic_load_explicit(&found->id, memory_order_relaxed) == id;
}

/* What a number of this kind names may become another segment; only the second look, at one that
 * is held by being attached, counts. */
static const void *attach(const struct ses_public_kind *kind, struct ses_public_found *found,
                          uint32_t user) {
  uint64_t socket_hash = ses_table_hash(ses_settings()->agent.sun_path);
  uint32_t by = 0;
  int id = (int)ses_sys3(SYS_shmget, ses_table_key(socket_hash, kind->number), 0, 0);
  if (id < 0 || is_known(found, id) || !is_trusted(kind, id, user, &by) ||
      atomic_load_explicit(&found->attached, memory_order_relaxed) >= MOST_ATTACHED)
    return NULL;
  long address = ses_sys3(SYS_shmat, id, 0, SHM_RDONLY);
  if (address < 0 && address > -4096)
    return NULL;
  const void *at = (const void *)(intptr_t)address;
  if (!is_trusted(kind, id, user, &by) || !kind->is_sound(at, socket_hash) || !kind->is_alive(at)) {
    ses_sys2(SYS_shmdt, address, 0);
    return NULL;
  }
  atomic_fetch_add_explicit(&found->attached, 1, memory_order_relaxed);
  atomic_store_explicit(&found->maker, by, memory_order_relaxed);
  atomic_store_explicit(&found->id, id, memory_order_relaxed);
  atomic_store_explicit(&found->in_force, at, memory_order_release);
  return at;
}

const void *ses_public_segment(const struct ses_public_kind *kind, struct ses_public_found *found) {
  const void *at = atomic_load_explicit(&found->in_force, memory_order_acquire);
  if (at && kind->is_alive(at)) {
    uint32_t by = atomic_load_explicit(&found->maker, memory_order_relaxed);
    return by == 0 || by == (uint32_t)ses_sys0(SYS_geteuid) ? at : NULL;
  }
  uint64_t next = atomic_load_explicit(&found->next_try_ms, memory_order_relaxed);
  uint64_t now = ses_clock_ms();
  if (now < next ||
      !atomic_compare_exchange_strong_explicit(&found->next_try_ms, &next, now + PAUSE_MS,
                                               memory_order_relaxed, memory_order_relaxed))
    return NULL;
  return attach(kind, found, (uint32_t)ses_sys0(SYS_geteuid));
}

bool ses_public_may_be(const struct ses_public_found *found) {
  return atomic_load_explicit(&found->in_force, memory_order_relaxed) ||
         ses_clock_ms() >= atomic_load_explicit(&found->next_try_ms, memory_order_relaxed);
}
