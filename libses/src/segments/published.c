#include "segments/published.h"

#include <fcntl.h>
#include <stdatomic.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>

#include "runtime/clock.h"
#include "runtime/sys.h"
#include "settings/settings.h"

#define PAUSE_MS 1000u
#define SUFFIX_SIZE 16u  /* with its NUL */
#define MAX_ATTACHED 64u /* by one process: agents that came one after the other */

/* What is looked for. */
struct kind {
  struct ses_segment_head head;
  uint32_t number;    /* for ses_segment_key() */
  const char *suffix; /* of the socket's path: the file where there is no segment; NULL: none */
  /* Is what lies AT whole, and from the agent at a socket of this hash? */
  bool (*is_sound)(const void *at, uint64_t socket_hash);
  /* May it be used now?  If not, another one is looked for under the same key. */
  bool (*is_alive)(const void *at);
};

/* What this process has of it; all zero at first. */
struct attachment {
  _Atomic(const void *) in_force;
  _Atomic int id;         /* the kernel's number of it */
  _Atomic uint32_t maker; /* who made it */
  _Atomic uint64_t next_try_ms;
  _Atomic unsigned attached; /* so far */
};

static bool is_known(const struct attachment *attachment, int id) {
  return atomic_load_explicit(&attachment->in_force, memory_order_acquire) &&
         atomic_load_explicit(&attachment->id, memory_order_relaxed) == id;
}

/* The segment of an agent of USER or root, which is not known yet.  With its ID and MAKER. */
static void *attach(const struct kind *kind, const struct attachment *attachment, uint32_t user,
                    int *id, uint32_t *maker) {
  struct ses_segment_rule rule = ses_segment_published(user, true, kind->head.size);
  struct ses_segment_facts facts;
  void *at;
  *id = ses_segment_find(
      ses_segment_key(ses_segment_hash(ses_settings()->agent.sun_path), kind->number));
  if (*id < 0 || is_known(attachment, *id) ||
      ses_segment_attach(*id, &rule, false, &facts, &at) != 0)
    return NULL;
  *maker = facts.maker;
  return at;
}

/* The file in place of a segment: as that, its maker's alone to write. */
static __attribute__((noinline)) void *map(const struct kind *kind, uint32_t user,
                                           uint32_t *maker) {
  const char *socket = ses_settings()->agent.sun_path;
  size_t length = strlen(socket);
  union {
    char path[sizeof ses_settings()->agent.sun_path + SUFFIX_SIZE];
    struct stat status;
  } file; /* one after the other: programs have little stack */
  memcpy(file.path, socket, length);
  memcpy(file.path + length, kind->suffix, strlen(kind->suffix) + 1);
  int fd = ses_sys_openat(AT_FDCWD, file.path, O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK, 0);
  if (fd < 0)
    return NULL;
  long at = -1;
  if (ses_sys2(SYS_fstat, fd, ses_address(&file.status)) == 0) {
    *maker = file.status.st_uid;
    if (S_ISREG(file.status.st_mode) && (file.status.st_mode & 022) == 0 &&
        (*maker == 0 || *maker == user) && (uint64_t)file.status.st_size == kind->head.size)
      at = ses_sys6(SYS_mmap, 0, file.status.st_size, PROT_READ, MAP_SHARED, fd, 0);
  }
  ses_sys_close(fd);
  return at < 0 && at > -4096 ? NULL : (void *)at;
}

static __attribute__((noinline)) const void *find(const struct kind *kind,
                                                  struct attachment *attachment, uint32_t user) {
  if (atomic_load_explicit(&attachment->attached, memory_order_relaxed) >= MAX_ATTACHED)
    return NULL;
  int id = -1;
  uint32_t maker = 0;
  uint64_t socket_hash = ses_segment_hash(ses_settings()->agent.sun_path);
  void *at = attach(kind, attachment, user, &id, &maker);
  bool is_segment = at;
  if (!at && kind->suffix)
    at = map(kind, user, &maker);
  if (!at)
    return NULL;
  if (!ses_segment_is(at, &kind->head) || !kind->is_sound(at, socket_hash) || !kind->is_alive(at)) {
    if (is_segment)
      ses_segment_detach(at);
    else
      ses_sys2(SYS_munmap, ses_address(at), (long)kind->head.size);
    return NULL;
  }
  atomic_fetch_add_explicit(&attachment->attached, 1, memory_order_relaxed);
  atomic_store_explicit(&attachment->maker, maker, memory_order_relaxed);
  atomic_store_explicit(&attachment->id, is_segment ? id : -1, memory_order_relaxed);
  atomic_store_explicit(&attachment->in_force, at, memory_order_release);
  return at;
}

static const void *get(const struct kind *kind, struct attachment *attachment) {
  const void *at = atomic_load_explicit(&attachment->in_force, memory_order_acquire);
  if (at && kind->is_alive(at)) {
    uint32_t by = atomic_load_explicit(&attachment->maker, memory_order_relaxed);
    return by == 0 || by == (uint32_t)ses_sys0(SYS_geteuid) ? at : NULL;
  }
  return ses_clock_is_turn(&attachment->next_try_ms, PAUSE_MS)
             ? find(kind, attachment, (uint32_t)ses_sys0(SYS_geteuid))
             : NULL;
}

/* ---------------------------------------------------------------------- table */

static bool table_is_alive(const void *at) {
  const struct ses_table_head *head = at;
  uint64_t heartbeat = __atomic_load_n(&head->heartbeat_ms, __ATOMIC_ACQUIRE);
  /* The clock read here may be a tick behind the one the heartbeat was taken from. */
  uint64_t age = ses_clock_ms() + SES_TABLE_STALE_MS - heartbeat;
  return __atomic_load_n(&head->state, __ATOMIC_ACQUIRE) == SES_TABLE_ALIVE &&
         age < 2 * (uint64_t)SES_TABLE_STALE_MS;
}

static bool table_is_sound(const void *at, uint64_t socket_hash) {
  return ((const struct ses_table_head *)at)->socket_hash == socket_hash;
}

static struct attachment table;

const struct ses_table *ses_table_segment(void) {
  static const struct kind kind = {
      .head = SES_TABLE_KIND, .is_sound = table_is_sound, .is_alive = table_is_alive};
  return get(&kind, &table);
}

bool ses_table_may_be(void) {
  return atomic_load_explicit(&table.in_force, memory_order_relaxed) ||
         ses_clock_ms() >= atomic_load_explicit(&table.next_try_ms, memory_order_relaxed);
}

/* ---------------------------------------------------------------------- rules */

static bool rules_are_alive(const void *at) {
  const struct ses_rules *rules = at;
  return __atomic_load_n(&rules->state, __ATOMIC_ACQUIRE) == SES_TABLE_ALIVE;
}

static bool rules_are_sound(const void *at, uint64_t socket_hash) {
  const struct ses_rules *rules = at;
  return rules->socket_hash == socket_hash && !rules->include[sizeof rules->include - 1] &&
         !rules->exclude[sizeof rules->exclude - 1] && !rules->programs[sizeof rules->programs - 1];
}

const struct ses_rules *ses_rules_segment(void) {
  static const struct kind kind = {.head = SES_RULES_KIND,
                                   .number = SES_RULES_UID,
                                   .suffix = SES_RULES_SUFFIX,
                                   .is_sound = rules_are_sound,
                                   .is_alive = rules_are_alive};
  static struct attachment rules;
  return get(&kind, &rules);
}
