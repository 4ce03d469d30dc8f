/*
 * Regions: a System V segment each, found by a key made of its owner and name.
 *
 * (Not a file in /dev/shm: its owner could cut it off under a reader, who would die of SIGBUS.)
 * Two names may give the same key, so that up to KEYS keys are looked at, and the head says which
 * region it is.
 */
#include "region.h"

#include <errno.h>
#include <pwd.h>
#include <stdlib.h>
#include <string.h>
#include <sys/shm.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "ses/table.h"

#define KEYS 8u
#define PERMISSIONS 0777u
#define PATIENCE_NS 5000000000ull
#define MAKING_TRIES 5000 /* of a millisecond, while another process fills in the head */
#define DEFAULT_BYTES (1u << 20)
#define DEFAULT_ITEMS 256u
#define PAGE 4096u

struct place {
  uint32_t owner;
  const char *name; /* without the owner */
};

bool ses_share_is_name(const char *name) {
  size_t length = name ? strnlen(name, SES_SHARE_NAME_MAX) : 0;
  return length > 0 && length < SES_SHARE_NAME_MAX &&
         strspn(name, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789._-") ==
             length;
}

static int user_of(const char *text, size_t length, uint32_t *user) {
  char name[256], room[4096], *end;
  struct passwd entry, *found = NULL;
  if (length == 0 || length >= sizeof name)
    return EINVAL;
  memcpy(name, text, length);
  name[length] = '\0';
  unsigned long number = strtoul(name, &end, 10);
  if (*end == '\0' && name[0] != '-' && number < UINT32_MAX) {
    *user = (uint32_t)number;
    return 0;
  }
  if (getpwnam_r(name, &entry, room, sizeof room, &found) != 0 || !found)
    return ENOENT;
  *user = found->pw_uid;
  return 0;
}

static int read_name(const char *text, struct place *place) {
  const char *colon = text ? strchr(text, ':') : NULL;
  place->owner = (uint32_t)geteuid();
  place->name = colon ? colon + 1 : text;
  if (!ses_share_is_name(place->name))
    return EINVAL;
  return colon ? user_of(text, (size_t)(colon - text), &place->owner) : 0;
}

static key_t key_of(const struct place *place, uint32_t number) {
  uint64_t hash = ses_table_hash(place->name) ^ (uint64_t)place->owner * 0x9e3779b97f4a7c15u;
  return ses_table_key(hash ^ SES_SHARE_MAGIC, number);
}

static uint64_t pid_namespace(void) {
  struct stat seen;
  return stat("/proc/self/ns/pid", &seen) == 0 ? seen.st_ino : 0;
}

static void pause_ms(void) { nanosleep(&(struct timespec){.tv_nsec = 1000000}, NULL); }

/* Made by OWNER, who still owns it; 0 or an error. */
static int is_owned(int id, uint32_t owner, struct shmid_ds *seen) {
  if (shmctl(id, IPC_STAT, seen) != 0)
    return errno;
  return seen->shm_perm.cuid == owner && seen->shm_perm.uid == owner &&
                 seen->shm_segsz >= sizeof(struct ses_share_head)
             ? 0
             : ENOENT;
}

static char *attach(int id, bool *writable) {
  char *at = shmat(id, NULL, 0);
  *writable = at != (char *)-1;
  if (!*writable && errno == EACCES)
    at = shmat(id, NULL, SHM_RDONLY);
  return at == (char *)-1 ? NULL : at;
}

/* The head may be being filled in by who makes the region, or was left so by one who died. */
static int is_ready(int id, const struct ses_share_head *head) {
  struct shmid_ds seen;
  for (int i = 0; i < MAKING_TRIES; i++) {
    if (atomic_load_explicit(&head->ready, memory_order_acquire) != 0)
      return 0;
    if (shmctl(id, IPC_STAT, &seen) != 0 || seen.shm_nattch <= 1)
      return ENOENT; /* the only one is this process */
    pause_ms();
  }
  return ETIMEDOUT;
}

static int is_sound(const struct ses_share *share, const char *name) {
  const struct ses_share_head *head = ses_share_head_of(share);
  if (head->magic != SES_SHARE_MAGIC || strncmp(head->name, name, sizeof head->name) != 0)
    return ENOENT;
  bool fits = head->bytes == share->bytes && share->items <= SES_SHARE_ITEMS_MAX &&
              share->heap >= sizeof *head + share->items * sizeof(struct ses_share_record) &&
              share->heap <= share->bytes && share->heap % SES_SHARE_LINE == 0;
  return fits && head->version == SES_SHARE_VERSION && head->head_bytes == sizeof *head &&
                 head->pid_namespace == pid_namespace()
             ? 0
             : ENOTSUP;
}

static int look_at(int id, const struct place *place, struct ses_share *share) {
  struct shmid_ds seen;
  int status = is_owned(id, place->owner, &seen);
  if (status != 0)
    return status;
  *share = (struct ses_share){.id = id, .patience_ns = PATIENCE_NS, .self = ses_lock_self()};
  share->at = attach(id, &share->writable);
  if (!share->at)
    return errno;
  status = is_owned(id, place->owner, &seen); /* what is attached cannot become another */
  if (status == 0)
    status = is_ready(id, ses_share_head_of(share));
  share->bytes = seen.shm_segsz;
  share->heap = ses_share_head_of(share)->heap;
  share->items = ses_share_head_of(share)->items;
  if (status == 0)
    status = is_sound(share, place->name);
  if (status != 0)
    shmdt(share->at);
  return status;
}

static int find(const struct place *place, struct ses_share *share) {
  int status = ENOENT;
  for (uint32_t i = 0; i < KEYS; i++) {
    int id = shmget(key_of(place, i), 0, 0);
    int one = id < 0 ? errno : look_at(id, place, share);
    if (one == 0)
      return 0;
    if (one != ENOENT && one != EIDRM && one != EINVAL)
      status = one;
  }
  return status;
}

static int keep(const struct ses_share *found, ses_share **share) {
  *share = malloc(sizeof **share);
  if (!*share) {
    shmdt(found->at);
    return ENOMEM;
  }
  **share = *found;
  return 0;
}

int ses_share_open(const char *name, ses_share **share) {
  struct place place;
  struct ses_share found;
  int status = share ? read_name(name, &place) : EINVAL;
  if (status == 0)
    status = find(&place, &found);
  return status == 0 ? keep(&found, share) : status;
}

void ses_share_close(ses_share *share) {
  if (!share)
    return;
  shmdt(share->at);
  free(share);
}

/* An own segment whose maker died before its head was filled in is nobody's. */
static void remove_unfinished(int id, uint32_t owner) {
  struct shmid_ds seen;
  if (is_owned(id, owner, &seen) == 0 && seen.shm_nattch == 0) {
    const struct ses_share_head *head = shmat(id, NULL, SHM_RDONLY);
    if (head == (const void *)-1)
      return;
    if (atomic_load_explicit(&head->ready, memory_order_acquire) == 0 && head->magic == 0)
      shmctl(id, IPC_RMID, NULL);
    shmdt(head);
  }
}

static int make_segment(const struct place *place, size_t bytes, uint32_t mode, int *id) {
  int status = ENOSPC;
  for (uint32_t i = 0; i < KEYS; i++) {
    key_t key = key_of(place, i);
    int there = shmget(key, 0, 0);
    if (there >= 0)
      remove_unfinished(there, place->owner);
    *id = shmget(key, bytes, (int)(IPC_CREAT | IPC_EXCL | mode));
    if (*id >= 0)
      return 0;
    status = errno == EEXIST ? ENOSPC : errno;
    if (errno != EEXIST)
      break;
  }
  return status;
}

static int give_to_group(int id, uint32_t group) {
  struct shmid_ds seen;
  if (shmctl(id, IPC_STAT, &seen) != 0)
    return errno;
  seen.shm_perm.gid = group;
  return shmctl(id, IPC_SET, &seen) == 0 ? 0 : errno;
}

static void fill_in(struct ses_share *share, const char *name) {
  struct ses_share_head *head = ses_share_head_of(share);
  head->magic = SES_SHARE_MAGIC;
  head->version = SES_SHARE_VERSION;
  head->head_bytes = sizeof *head;
  head->bytes = share->bytes;
  head->heap = share->heap;
  head->items = share->items;
  head->pid_namespace = pid_namespace();
  memcpy(head->name, name, strlen(name) + 1);
  atomic_store_explicit(&head->ready, 1, memory_order_release);
}

static int make(const struct place *place, const ses_share_options *options,
                struct ses_share *share) {
  uint32_t mode = options->mode ? options->mode : 0600;
  uint64_t wanted = options->bytes ? options->bytes : DEFAULT_BYTES;
  *share =
      (struct ses_share){.patience_ns = PATIENCE_NS, .self = ses_lock_self(), .writable = true};
  share->items = options->items ? options->items : DEFAULT_ITEMS;
  if (wanted > SES_SHARE_BYTES_MAX || share->items > SES_SHARE_ITEMS_MAX ||
      (mode & ~PERMISSIONS) != 0 || (mode & 0600) != 0600)
    return EINVAL;
  uint64_t records = share->items * sizeof(struct ses_share_record);
  share->heap = (sizeof(struct ses_share_head) + records + PAGE - 1) / PAGE * PAGE;
  share->bytes = share->heap + (wanted + PAGE - 1) / PAGE * PAGE;
  int status = make_segment(place, share->bytes, mode, &share->id);
  if (status != 0)
    return status;
  status = options->grouped ? give_to_group(share->id, options->group) : 0;
  share->at = status == 0 ? shmat(share->id, NULL, 0) : (char *)-1;
  if (share->at == (char *)-1) {
    status = status ? status : errno;
    shmctl(share->id, IPC_RMID, NULL);
    return status;
  }
  fill_in(share, place->name);
  return 0;
}

int ses_share_create(const char *name, const ses_share_options *options, ses_share **share) {
  static const ses_share_options defaults;
  struct place place;
  struct ses_share found;
  int status = share ? read_name(name, &place) : EINVAL;
  if (status != 0)
    return status;
  if (place.owner != (uint32_t)geteuid())
    return EACCES;
  status = find(&place, &found);
  if (status == 0)
    shmdt(found.at);
  if (status != ENOENT && status != EACCES)
    return status == 0 ? EEXIST : status;
  status = make(&place, options ? options : &defaults, &found);
  return status == 0 ? keep(&found, share) : status;
}

int ses_share_remove(const char *name) {
  struct place place;
  struct ses_share found;
  int status = read_name(name, &place);
  if (status == 0)
    status = find(&place, &found);
  if (status != 0)
    return status;
  if (shmctl(found.id, IPC_RMID, NULL) != 0)
    status = errno == EPERM ? EACCES : errno;
  shmdt(found.at);
  return status;
}

void ses_share_patience(ses_share *share, double seconds) {
  share->patience_ns = seconds <= 0     ? 0
                       : seconds >= 1e9 ? UINT64_MAX / 4
                                        : (uint64_t)(seconds * 1e9);
}

static void describe(const struct ses_share *share, const struct shmid_ds *seen,
                     ses_share_facts *facts) {
  uint64_t start;
  memset(facts, 0, sizeof *facts);
  memcpy(facts->name, ses_share_head_of(share)->name, sizeof facts->name - 1);
  facts->owner = seen->shm_perm.uid;
  facts->group = seen->shm_perm.gid;
  facts->mode = seen->shm_perm.mode & PERMISSIONS;
  facts->opened = (uint32_t)seen->shm_nattch;
  facts->bytes = share->bytes - share->heap;
  facts->bytes_free = ses_share_gap(share, UINT64_MAX, &start);
  facts->items_most = share->items;
  for (uint32_t i = 0; i < share->items; i++)
    facts->items +=
        atomic_load_explicit(&ses_share_record_of(share, i)->generation, memory_order_relaxed) & 1;
}

int ses_share_facts_of(ses_share *share, ses_share_facts *facts) {
  struct shmid_ds seen;
  if (shmctl(share->id, IPC_STAT, &seen) != 0)
    return errno;
  describe(share, &seen, facts);
  return 0;
}

int ses_share_each(int (*see)(const ses_share_facts *facts, void *with), void *with) {
  struct shm_info info;
  int last = shmctl(0, SHM_INFO, (struct shmid_ds *)(void *)&info);
  if (last < 0)
    return errno;
  for (int i = 0; i <= last; i++) {
    struct shmid_ds seen;
    struct ses_share share;
    ses_share_facts facts;
    char name[SES_SHARE_NAME_MAX];
    int id = shmctl(i, SHM_STAT, &seen);
    if (id < 0 || seen.shm_segsz < sizeof(struct ses_share_head) || (seen.shm_perm.mode & SHM_DEST))
      continue;
    const struct ses_share_head *head = shmat(id, NULL, SHM_RDONLY);
    if (head == (const void *)-1)
      continue;
    memcpy(name, head->name, sizeof name);
    name[sizeof name - 1] = '\0';
    bool is_one = head->magic == SES_SHARE_MAGIC;
    shmdt(head);
    if (!is_one || look_at(id, &(struct place){seen.shm_perm.uid, name}, &share) != 0)
      continue;
    describe(&share, &seen, &facts);
    shmdt(share.at);
    int result = see(&facts, with);
    if (result != 0)
      return result;
  }
  return 0;
}
