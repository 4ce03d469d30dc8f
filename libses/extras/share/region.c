/*
 * Regions: a System V segment each, found by a key made of its owner and name.
 *
 * (Not a file in /dev/shm: its owner could cut it off under a reader, who would die of SIGBUS.)
 * Two names may give the same key, and anybody may take one, so that up to KEYS keys are looked at,
 * and the head says which region it is.  Who wants to keep another user from making a region has to
 * hold all KEYS of its name: 256 of the segments of the node, which has 4096 (kernel.shmmni), as
 * far as its administrator has not changed that.  Who holds those keeps everybody from it anyway:
 * the kernel has no limit for a user.
 */
#include "region.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/shm.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "names.h"
#include "records.h"
#include "remote/remote.h"
#include "ses/segment.h"

#define KEYS 256u
#define PERMISSIONS 0777u
#define MAKING_TRIES 5000 /* of a millisecond, while another process fills in the head */
#define LOOKS_MAX 1000    /* at a key whose segments go as soon as they are looked at */
#define DEFAULT_BYTES (1u << 20)
#define DEFAULT_ITEMS 256u
#define PAGE 4096u

static uint64_t pid_namespace(void) {
  struct stat seen;
  return stat("/proc/self/ns/pid", &seen) == 0 ? seen.st_ino : 0;
}

static void pause_ms(void) { nanosleep(&(struct timespec){.tv_nsec = 1000000}, NULL); }

/* True: somebody else than OWNER made it, or has it now.  Of what the caller may not read only this
 * call of the kernel says so, since Linux 4.17; it takes the place of ID in the kernel's table. */
static bool is_of_another(int id, uint32_t owner) {
  struct shmid_ds seen;
  return shmctl(id, SHM_STAT_ANY, &seen) == id &&
         (seen.shm_perm.uid != owner || seen.shm_perm.cuid != owner);
}

/* What OWNER has made and still owns; 0 or an error. */
static int attach(int id, uint32_t owner, struct ses_share *share) {
  struct ses_segment_rule rule = {owner, owner, owner, SES_SEGMENT_ANY_MODE, 0};
  struct ses_segment_facts facts;
  void *at;
  int status = ses_segment_attach(id, &rule, true, &facts, &at);
  share->writable = status == 0;
  if (status == -EACCES)
    status = ses_segment_attach(id, &rule, false, &facts, &at);
  if (status != 0)
    return status == -EPERM ? ENOENT : -status;
  share->id = id;
  share->at = at;
  share->bytes = facts.size;
  if (share->bytes >= sizeof(struct ses_share_head))
    return 0;
  ses_segment_detach(at);
  return ENOENT;
}

/* The head may be being filled in by who makes the region, for whom so many TRIES are waited.
 * EOWNERDEAD: who made it died before that. */
static int is_ready(const struct ses_share *share, int tries) {
  const struct ses_share_head *head = ses_share_head_of(share);
  struct ses_segment_facts facts;
  for (; atomic_load_explicit(&head->ready, memory_order_acquire) == 0; tries--) {
    uint32_t magic = __atomic_load_n(&head->segment.magic, __ATOMIC_RELAXED);
    if (ses_segment_look(share->id, &facts) != 0 || facts.removed ||
        (magic != 0 && magic != SES_SHARE_MAGIC))
      return ENOENT;
    if (facts.process > 0 ? ses_lock_is_dead(facts.process) : facts.attached <= 1)
      return EOWNERDEAD; /* of one in another PID namespace nothing is known: it has gone */
    if (tries == 0)
      return ETIMEDOUT;
    pause_ms();
  }
  return 0;
}

static struct ses_segment_head kind_of(uint64_t bytes) {
  return (struct ses_segment_head){SES_SHARE_MAGIC, SES_SHARE_VERSION,
                                   sizeof(struct ses_share_head), bytes};
}

static int is_sound(const struct ses_share *share, const char *name) {
  const struct ses_share_head *head = ses_share_head_of(share);
  const struct ses_segment_head kind = kind_of(share->bytes);
  if (head->segment.magic != kind.magic || !ses_share_is_region_name(share->name) ||
      (name && strcmp(share->name, name) != 0))
    return ENOENT;
  bool fits = share->items <= SES_SHARE_ITEMS_MAX &&
              share->heap >= sizeof *head + share->items * sizeof(struct ses_share_record) &&
              share->heap <= share->bytes && share->heap % SES_SHARE_LINE == 0;
  return fits && ses_segment_is(head, &kind) && head->pid_namespace == pid_namespace() ? 0
                                                                                       : ENOTSUP;
}

/* Open OWNER's region NAME; NULL: of any name, and nobody who makes it is waited for. */
static int look_at(int id, uint32_t owner, const char *name, struct ses_share *share) {
  *share = (struct ses_share){.patience_ns = SES_SHARE_PATIENCE_NS};
  int status = attach(id, owner, share);
  if (status != 0)
    return status;
  const struct ses_share_head *head = ses_share_head_of(share);
  status = is_ready(share, name ? MAKING_TRIES : 0);
  share->heap = __atomic_load_n(&head->heap, __ATOMIC_RELAXED);
  share->items = __atomic_load_n(&head->items, __ATOMIC_RELAXED);
  memcpy(share->name, head->name, sizeof share->name - 1);
  if (status == 0)
    status = is_sound(share, name);
  if (status != 0)
    ses_segment_detach(share->at);
  return status;
}

static bool is_absent(int status) {
  return status == ENOENT || status == EIDRM || status == EINVAL;
}

/* ID is the segment of KEY, negative where there is none.  One that went while it was looked at may
 * have left its key to the region. */
static int look_for(const struct ses_share_name *region, key_t key, int *id,
                    struct ses_share *share) {
  for (int tries = LOOKS_MAX;; tries--) {
    *id = ses_segment_find(key);
    int error = *id < 0 ? -*id
                : is_of_another(*id, region->owner)
                    ? ENOENT
                    : look_at(*id, region->owner, region->name, share);
    if (*id < 0 || !is_absent(error) || tries == 0 || ses_segment_find(key) == *id)
      return error;
  }
}

/* UNUSED becomes the first of its keys that no segment has; 0: there is none. */
static int find(const struct ses_share_name *region, struct ses_share *share, key_t *unused) {
  int status = ENOENT;
  *unused = 0;
  for (uint32_t i = 0; i < KEYS; i++) {
    key_t key = ses_share_key_of(region, i);
    int id;
    int error = look_for(region, key, &id, share);
    if (error == 0)
      return 0;
    if (error == EOWNERDEAD) {
      ses_segment_remove(id);
      error = ENOENT;
      id = -ENOENT;
    }
    if (id == -ENOENT && *unused == 0)
      *unused = key;
    if (!is_absent(error))
      status = error;
  }
  return status;
}

static void leave(const struct ses_share *share) {
  if (share->remote)
    ses_remote_close(share->remote);
  else
    ses_segment_detach(share->at);
}

static int keep(const struct ses_share *opened, ses_share **share) {
  *share = malloc(sizeof **share);
  if (!*share) {
    leave(opened);
    return ENOMEM;
  }
  **share = *opened;
  return 0;
}

static int reach(const char *name, uint32_t operation, const ses_share_options *options,
                 ses_share **share) {
  struct ses_share opened = {.patience_ns = SES_SHARE_PATIENCE_NS, .writable = true};
  int status = ses_remote_open(name, operation, options, &opened.remote);
  return status == 0 ? keep(&opened, share) : status;
}

int ses_share_open(const char *name, ses_share **share) {
  struct ses_share_name region;
  struct ses_share opened;
  key_t unused;
  int status = share ? ses_share_read_name(name, &region) : EINVAL;
  if (status == 0 && region.remote)
    return reach(region.whole, SES_REMOTE_OPEN, NULL, share);
  if (status == 0)
    status = find(&region, &opened, &unused);
  return status == 0 ? keep(&opened, share) : status;
}

void ses_share_close(ses_share *share) {
  if (!share)
    return;
  leave(share);
  free(share);
}

/* Of processes that make a region of one name at the same moment, one has the first key that is
 * free, and the others find the region there. */
static int make_segment(const struct ses_share_name *region, uint64_t bytes, uint32_t mode,
                        int *id) {
  struct ses_share existing;
  key_t unused;
  for (uint32_t i = 0; i < KEYS; i++) {
    int status = find(region, &existing, &unused);
    if (status == 0)
      ses_segment_detach(existing.at);
    if (status != ENOENT && status != EACCES)
      return status == 0 ? EEXIST : status;
    if (unused == 0)
      break;
    *id = ses_segment_make(unused, bytes, mode);
    if (*id != -EEXIST)
      return *id < 0 ? -*id : 0;
  }
  return ENOSPC;
}

static void fill_in(const struct ses_share *share) {
  struct ses_share_head *head = ses_share_head_of(share);
  const struct ses_segment_head kind = kind_of(share->bytes);
  head->heap = share->heap;
  head->items = share->items;
  head->pid_namespace = pid_namespace();
  memcpy(head->name, share->name, sizeof head->name);
  ses_segment_name(head, &kind);
  atomic_store_explicit(&head->ready, 1, memory_order_release);
}

static int make(const struct ses_share_name *region, const ses_share_options *options,
                struct ses_share *share) {
  uint32_t mode = options->mode ? options->mode : 0600;
  uint64_t wanted = options->bytes ? options->bytes : DEFAULT_BYTES;
  int id;
  *share = (struct ses_share){.patience_ns = SES_SHARE_PATIENCE_NS};
  strcpy(share->name, region->name);
  share->items = options->items ? options->items : DEFAULT_ITEMS;
  if (wanted > SES_SHARE_BYTES_MAX || share->items > SES_SHARE_ITEMS_MAX ||
      (mode & ~PERMISSIONS) != 0 || (mode & 0600) != 0600)
    return EINVAL;
  uint64_t records = share->items * sizeof(struct ses_share_record);
  share->heap = (sizeof(struct ses_share_head) + records + PAGE - 1) / PAGE * PAGE;
  uint64_t bytes = share->heap + (wanted + PAGE - 1) / PAGE * PAGE;
  int status = make_segment(region, bytes, mode, &id);
  if (status != 0)
    return status;
  if (options->grouped)
    status = -ses_segment_give(id, region->owner, options->group, mode);
  if (status == 0)
    status = attach(id, region->owner, share);
  if (status != 0) {
    ses_segment_remove(id);
    return status;
  }
  fill_in(share);
  return 0;
}

int ses_share_create(const char *name, const ses_share_options *options, ses_share **share) {
  static const ses_share_options defaults;
  struct ses_share_name region;
  struct ses_share made;
  int status = share ? ses_share_read_name(name, &region) : EINVAL;
  if (status != 0)
    return status;
  if (region.remote)
    return reach(region.whole, SES_REMOTE_CREATE, options, share);
  if (region.owner != (uint32_t)geteuid())
    return EACCES;
  status = make(&region, options ? options : &defaults, &made);
  return status == 0 ? keep(&made, share) : status;
}

int ses_share_remove(const char *name) {
  struct ses_share_name region;
  struct ses_share existing;
  struct ses_remote *remote;
  key_t unused;
  int status = ses_share_read_name(name, &region);
  if (status == 0 && region.remote) {
    status = ses_remote_open(region.whole, SES_REMOTE_REMOVE, NULL, &remote);
    if (status == 0)
      ses_remote_close(remote);
    return status;
  }
  if (status == 0)
    status = find(&region, &existing, &unused);
  if (status != 0)
    return status;
  status = -ses_segment_remove(existing.id);
  ses_segment_detach(existing.at);
  return status == EPERM ? EACCES : status;
}

void ses_share_patience(ses_share *share, double seconds) {
  share->patience_ns = seconds <= 0     ? 0
                       : seconds >= 1e9 ? UINT64_MAX / 4
                                        : (uint64_t)(seconds * 1e9);
}

int ses_share_facts_of(ses_share *share, ses_share_facts *facts) {
  struct ses_segment_facts seen;
  uint64_t start;
  if (share->remote) {
    struct ses_remote_call call = {.asked.operation = SES_REMOTE_FACTS};
    int status = ses_remote_ask(share->remote, &call, share->patience_ns);
    *facts = call.came.facts;
    return status;
  }
  int status = -ses_segment_look(share->id, &seen);
  if (status != 0)
    return status;
  memset(facts, 0, sizeof *facts);
  memcpy(facts->name, share->name, sizeof facts->name);
  facts->owner = seen.owner;
  facts->group = seen.group;
  facts->mode = seen.mode;
  facts->opened = (uint32_t)seen.attached;
  facts->bytes = share->bytes - share->heap;
  facts->items_most = share->items;
  for (uint32_t i = 0; i < share->items; i++)
    facts->items +=
        atomic_load_explicit(&ses_share_record_of(share, i)->generation, memory_order_relaxed) & 1;
  return ses_share_gap(share, UINT64_MAX, &start, &facts->bytes_free);
}

int ses_share_each(int (*see)(const ses_share_facts *facts, void *with), void *with) {
  struct shm_info info;
  int last = shmctl(0, SHM_INFO, (struct shmid_ds *)(void *)&info);
  if (last < 0)
    return errno;
  for (int i = 0; i <= last; i++) {
    struct shmid_ds unused;
    struct ses_segment_facts seen;
    struct ses_share share;
    ses_share_facts facts;
    int id = shmctl(i, SHM_STAT, &unused);
    if (id < 0 || ses_segment_look(id, &seen) != 0 || seen.removed ||
        look_at(id, seen.owner, NULL, &share) != 0)
      continue;
    int status = ses_share_facts_of(&share, &facts);
    ses_segment_detach(share.at);
    facts.opened -= 1; /* its own */
    int result = status == 0 ? see(&facts, with) : 0;
    if (result != 0)
      return result;
  }
  return 0;
}
