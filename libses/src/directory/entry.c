#include "directory/entry.h"

#include <fcntl.h>
#include <stdatomic.h>
#include <stddef.h>
#include <string.h>
#include <sys/statfs.h>

#include "directory/default_acl.h"
#include "directory/device.h"
#include "directory/directory_cache.h"
#include "directory/unmanaged.h"
#include "request/need.h"
#include "request/path.h"
#include "runtime/cache.h"
#include "runtime/clock.h"
#include "runtime/sys.h"

bool ses_entry_begin(struct ses_entry *entry) {
  const char *path = entry->file.path;
  size_t length = ses_path_length(path);
  size_t parent = length;
  while (parent > 0 && path[parent - 1] != '/')
    parent--;
  entry->file.parent_length = (unsigned)parent;
  entry->path_length = (unsigned)length;
  return length > parent && parent < SES_PARENT_MAX;
}

static const char *parent_path(const struct ses_entry *entry, struct ses_work *work) {
  memcpy(work->parent, entry->file.path, entry->file.parent_length);
  work->parent[entry->file.parent_length] = '\0';
  return work->parent;
}

static int stat_parent(const struct ses_entry *entry, struct ses_work *work, int sync,
                       struct statx *stat) {
  return ses_sys_statx(entry->file.dirfd, parent_path(entry, work),
                       sync | (entry->file.parent_length ? 0 : AT_EMPTY_PATH),
                       STATX_TYPE | STATX_MODE | STATX_GID, stat);
}

/* The type of the parent's file system; 0 when it is unknown. */
__attribute__((noinline)) static unsigned long file_system_of_parent(const struct ses_entry *entry,
                                                                     struct ses_work *work) {
  struct statfs file_system;
  const char *parent = parent_path(entry, work);
  long failed;
  if (entry->file.dirfd == AT_FDCWD || *parent == '/')
    failed = ses_sys2(SYS_statfs, ses_address(*parent ? parent : "."), ses_address(&file_system));
  else /* another directory of the same file system, as a rule; the agent has the last word */
    failed = ses_sys2(SYS_fstatfs, entry->file.dirfd, ses_address(&file_system));
  return failed ? 0 : (unsigned long)file_system.f_type;
}

static __attribute__((noinline)) bool look_at_parent(struct ses_entry *entry,
                                                     struct ses_work *work) {
  struct statx stat;
  if (stat_parent(entry, work, AT_STATX_DONT_SYNC, &stat) != 0 || !S_ISDIR(stat.stx_mode))
    return false;
  entry->file.parent_major = stat.stx_dev_major;
  entry->file.parent_minor = stat.stx_dev_minor;
  entry->file.parent_inode = stat.stx_ino;
  entry->file.parent_mode = stat.stx_mode;
  entry->file.parent_gid = stat.stx_gid;
  return true;
}

static bool can_device(struct ses_entry *entry, struct ses_work *work) {
  if (!look_at_parent(entry, work))
    return false;
  /* Lustre numbers its devices as it likes: only the kind of file system identifies it. */
  enum ses_device_state state =
      ses_device_lookup(entry->file.parent_major, entry->file.parent_minor);
  if (state == SES_DEVICE_UNKNOWN) {
    const struct ses_backend_row *row = ses_backend_of(file_system_of_parent(entry, work));
    state = !row            ? SES_DEVICE_NOT_MANAGED
            : row->in_place ? SES_DEVICE_IN_PLACE
                            : SES_DEVICE_POSSIBLE;
    ses_device_remember(entry->file.parent_major, entry->file.parent_minor, state, false);
  }
  entry->in_place = state == SES_DEVICE_IN_PLACE;
  return state == SES_DEVICE_POSSIBLE || state == SES_DEVICE_IN_PLACE;
}

/* The key by which the way to the directory is cached, with where it begins; 0: no way, or unknown.
 * A descriptor costs no request to look at. */
static __attribute__((noinline)) uint64_t key_of_way(const struct ses_entry *entry) {
  struct statx start;
  if (entry->file.parent_length == 0)
    return 0;
  uint64_t key = ses_unmanaged_key(entry->file.path, entry->file.parent_length);
  if (*entry->file.path == '/')
    return key;
  if (ses_sys_statx(entry->file.dirfd, "", AT_EMPTY_PATH | AT_STATX_DONT_SYNC, STATX_INO, &start) !=
      0)
    return 0;
  uint64_t device = (uint64_t)start.stx_dev_major << 32 | start.stx_dev_minor;
  return ses_cache_mix(key ^ ses_cache_mix(device ^ ses_cache_mix(start.stx_ino)));
}

/* Is the directory known to be one where files are made in place? */
static bool is_known(struct ses_entry *entry, uint64_t key) {
  struct ses_cached_directory known;
  if (!ses_directory_cache_get(key, &known) ||
      ses_device_lookup(known.major, known.minor) != SES_DEVICE_IN_PLACE)
    return false;
  entry->file.parent_major = known.major;
  entry->file.parent_minor = known.minor;
  entry->file.parent_inode = known.inode;
  entry->file.parent_mode = 0;
  entry->file.parent_gid = 0;
  entry->in_place = true;
  return true;
}

static void remember_way(const struct ses_entry *entry, uint64_t key) {
  struct ses_cached_directory known = {.inode = entry->file.parent_inode,
                                       .major = entry->file.parent_major,
                                       .minor = entry->file.parent_minor};
  if (key)
    ses_directory_cache_put(key, &known);
}

bool ses_entry_is_possible(struct ses_entry *entry, struct ses_work *work) {
  bool whole = *entry->file.path == '/';
  uint64_t key = whole || ses_directory_cache_any() ? key_of_way(entry) : 0;
  if (whole && ses_unmanaged_is(key))
    return false;
  if (key && is_known(entry, key))
    return true;
  bool possible = can_device(entry, work);
  if (!possible && whole)
    ses_unmanaged_remember(key);
  else if (possible && entry->in_place)
    remember_way(entry, key ? key : key_of_way(entry));
  return possible;
}

/* A default ACL would give the file its rights by other rules than mode and umask. */
static bool has_default_acl(const struct ses_entry *entry, struct ses_work *work) {
  static const char name[] = "system.posix_acl_default";
  const char *parent = parent_path(entry, work);
  long result = -EBADF;
  if (entry->file.dirfd == AT_FDCWD || *parent == '/')
    result = ses_sys4(SYS_getxattr, ses_address(*parent ? parent : "."), ses_address(name), 0, 0);
  else if (!*parent)
    result = ses_sys4(SYS_fgetxattr, entry->file.dirfd, ses_address(name), 0, 0);
  if (result == -EBADF) { /* below a descriptor, or one that is O_PATH */
    int flags = O_RDONLY | O_DIRECTORY | O_CLOEXEC;
    int fd = ses_sys_openat(entry->file.dirfd, *parent ? parent : ".", flags, 0);
    if (fd < 0)
      return true; /* cannot look: assume the worst */
    result = ses_sys4(SYS_fgetxattr, fd, ses_address(name), 0, 0);
    ses_sys_close(fd);
  }
  return result != -ENODATA && result != -EOPNOTSUPP;
}

bool ses_entry_is_unsuited(struct ses_entry *entry, struct ses_work *work) {
  struct statx stat;
  if (entry->in_place)
    return false;
  uint64_t seen = ses_directory_changes();
  if (stat_parent(entry, work, AT_STATX_SYNC_AS_STAT, &stat) != 0 ||
      stat.stx_dev_major != entry->file.parent_major ||
      stat.stx_dev_minor != entry->file.parent_minor || has_default_acl(entry, work))
    return true;
  entry->file.parent_mode = stat.stx_mode;
  entry->file.parent_gid = stat.stx_gid;
  ses_directory_remember(entry->file.parent_major, entry->file.parent_minor, stat.stx_ino, seen);
  return false;
}

/* When a name was last found taken only by its create: programs that wait for a lock file to go try
 * the same name over and over, and others open the same files again and again. */
static _Atomic uint64_t name_taken_ms;
#define NAME_TAKEN_MS 1000u

/* May the look at the name be left to the create?  Where a name is to be new, it mostly is.  A
 * create in place reports it, for the price that the look would have; where the agent has to be
 * asked, it is not to be troubled with files that are there. */
static bool is_probably_new(const struct ses_entry *entry, int flags, bool at_hand) {
  if (flags & O_EXCL && at_hand && entry->in_place) /* its answer is the program's */
    return true;
  bool fresh = flags & O_EXCL ? at_hand || entry->in_place : at_hand && entry->in_place;
  return fresh && ses_clock_ms() >= atomic_load_explicit(&name_taken_ms, memory_order_relaxed);
}

enum ses_place_status ses_entry_look_at_name(const struct ses_entry *entry, bool at_hand) {
  int flags = entry->file.flags;
  const char *name = entry->file.path + entry->file.parent_length;
  struct statx stat;
  if (entry->in_place && !ses_backend_suits_in_place(name, flags))
    return SES_PLACE_UNSUITED;
  if (is_probably_new(entry, flags, at_hand))
    return SES_PLACE_PLACED;
  int status =
      ses_sys_statx(entry->file.dirfd, entry->file.path, AT_SYMLINK_NOFOLLOW, STATX_TYPE, &stat);
  if (status == -ENOENT)
    return SES_PLACE_PLACED;
  return status == 0 ? SES_PLACE_EXISTS : SES_PLACE_UNSUITED;
}

/* Has the answer fewer elements than the directory's rules?  A pool of several is as wide as the
 * metadata server finds right. */
static __attribute__((noinline)) bool is_narrower(const struct ses_answer *answer, unsigned width) {
  unsigned elements = answer->ost_count;
  if (answer->lustre_form == SES_LUSTRE_POOL) {
    elements = 0;
    for (unsigned i = 0; i < SES_MEMBER_WORDS; i++)
      elements += (unsigned)__builtin_popcountll(answer->members[i]);
    width = elements == 1 ? width : 0;
  }
  return elements < width;
}

int ses_entry_create(struct ses_entry *entry, struct ses_work *work) {
  struct ses_creation *file = &entry->file;
  file->answer = &work->answer;
  file->strayed = 0;
  file->unstaged = false;
  file->flags &= ~SES_PLACE_NODE;
  /* An answer for another kind of file system than this is? */
  int result = -EXDEV;
  if (ses_backend_is_in_place(file->answer) == entry->in_place)
    result = is_narrower(file->answer, entry->width) ? -EOPNOTSUPP : ses_backend_create(file);
  if (result == -EEXIST)
    atomic_store_explicit(&name_taken_ms, ses_clock_ms() + NAME_TAKEN_MS, memory_order_relaxed);
  return result;
}

enum ses_place_status ses_entry_outcome(const struct ses_entry *entry, struct ses_where *where,
                                        int result) {
  int strayed = entry->file.strayed;
  if (where)
    where->error = result >= 0 ? strayed : -result;
  return result >= 0 && strayed == 0 ? SES_PLACE_PLACED : SES_PLACE_FAILED;
}

void ses_entry_fill_where(struct ses_where *where, const struct ses_answer *answer) {
  if (!where)
    return;
  where->backend = answer->backend;
  where->placement_id = answer->placement_id;
  where->distance = answer->distance;
  memcpy(where->element, answer->element, sizeof where->element);
}
