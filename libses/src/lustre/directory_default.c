#include "lustre/directory_default.h"

#include <errno.h>
#include <fcntl.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <string.h>
#include <sys/stat.h>

#include "runtime/clock.h"
#include "runtime/fd_path.h"
#include "runtime/large.h"
#include "runtime/sys.h"

#define SLOTS 32u
#define REMEMBERED_MS 10000u
#define ROOT_INODE UINT64_C(0x200000007000001) /* of every Lustre: [0x200000007:0x1:0x0] */
#define DEPTH_MAX 64u

struct slot {
  _Atomic uint32_t sequence; /* odd: being written */
  uint32_t size;
  uint64_t device;
  uint64_t inode;
  uint64_t until_ms;
  unsigned char bytes[SES_LUSTRE_DEFAULT_MAX];
};

SES_LARGE static struct slot slots[SLOTS];

static struct slot *slot_of(uint64_t device, uint64_t inode) {
  uint64_t mixed = (inode ^ device << 17) * UINT64_C(0x9e3779b97f4a7c15);
  return &slots[mixed >> 59];
}

static bool cached(uint64_t device, uint64_t inode, unsigned char *into, long *size) {
  struct slot *slot = slot_of(device, inode);
  uint32_t before = atomic_load_explicit(&slot->sequence, memory_order_acquire);
  if (before & 1 || slot->device != device || slot->inode != inode ||
      slot->size > SES_LUSTRE_DEFAULT_MAX || ses_clock_ms() >= slot->until_ms)
    return false;
  *size = slot->size;
  memcpy(into, slot->bytes, slot->size);
  atomic_thread_fence(memory_order_acquire);
  return atomic_load_explicit(&slot->sequence, memory_order_relaxed) == before;
}

static void remember(uint64_t device, uint64_t inode, const unsigned char *bytes, long size) {
  struct slot *slot = slot_of(device, inode);
  uint32_t before = atomic_load_explicit(&slot->sequence, memory_order_relaxed);
  if (before & 1 ||
      !atomic_compare_exchange_strong_explicit(&slot->sequence, &before, before + 1,
                                               memory_order_acquire, memory_order_relaxed))
    return;
  atomic_thread_fence(memory_order_release);
  slot->size = (uint32_t)size;
  slot->device = device;
  slot->inode = inode;
  slot->until_ms = ses_clock_ms() + REMEMBERED_MS;
  memcpy(slot->bytes, bytes, (size_t)size);
  atomic_store_explicit(&slot->sequence, before + 2, memory_order_release);
}

static long read_by_name(const char *name, unsigned char *into) {
  return ses_sys4(SYS_getxattr, ses_address(name), ses_address("lustre.lov"), ses_address(into),
                  SES_LUSTRE_DEFAULT_MAX);
}

static long read_by_fd(int fd, char *name, unsigned char *into) {
  ses_fd_path(fd, name); /* unlike the descriptor this also serves one that is O_PATH */
  return read_by_name(name, into);
}

static long ask_for_default(const struct ses_directory *directory, char *scratch,
                            unsigned char *into) {
  memcpy(scratch, directory->path, directory->length);
  scratch[directory->length] = '\0';
  if (directory->dirfd == AT_FDCWD || *scratch == '/')
    return read_by_name(*scratch ? scratch : ".", into);
  if (!*scratch)
    return read_by_fd(directory->dirfd, scratch, into);
  int fd = ses_sys_openat(directory->dirfd, scratch, O_PATH | O_DIRECTORY | O_CLOEXEC, 0);
  if (fd < 0)
    return fd;
  long size = read_by_fd(fd, scratch, into);
  ses_sys_close(fd);
  return size;
}

/* The file system's root, from a DIRECTORY below it: an O_PATH descriptor, or -errno (-EXDEV: what
 * is mounted here does not begin there). */
static int open_root(const struct ses_directory *directory, const struct ses_default_work *work) {
  static const int flags = O_PATH | O_DIRECTORY | O_CLOEXEC;
  struct statx *stat = work->stat;
  int fd = ses_sys_openat(directory->dirfd, *work->path ? work->path : ".", flags, 0);
  for (unsigned depth = 0; fd >= 0; depth++) {
    int failed = ses_sys_statx(fd, "", AT_EMPTY_PATH | AT_STATX_DONT_SYNC, STATX_INO, stat);
    if (!failed && ((uint64_t)stat->stx_dev_major << 32 | stat->stx_dev_minor) != directory->device)
      failed = -EXDEV;
    if (!failed && stat->stx_ino == ROOT_INODE)
      return fd;
    int above = failed ? failed : depth < DEPTH_MAX ? ses_sys_openat(fd, "..", flags, 0) : -ELOOP;
    ses_sys_close(fd);
    fd = above;
  }
  return fd;
}

/* The root's own default into WORK->root: its size, 0 if it has none, or -errno. */
static long default_of_root(const struct ses_directory *directory,
                            const struct ses_default_work *work) {
  long size;
  if (cached(directory->device, ROOT_INODE, work->root, &size))
    return size;
  memcpy(work->path, directory->path, directory->length);
  work->path[directory->length] = '\0';
  int fd = open_root(directory, work);
  if (fd < 0)
    return fd;
  size = read_by_fd(fd, work->path, work->root);
  ses_sys_close(fd);
  if (size == -ENODATA)
    size = 0;
  if (size >= 0)
    remember(directory->device, ROOT_INODE, work->root, size);
  return size;
}

/* The directory that the path leads to now. */
static long look_again(struct ses_directory *directory, const struct ses_default_work *work) {
  memcpy(work->path, directory->path, directory->length);
  work->path[directory->length] = '\0';
  long failed = ses_sys_statx(directory->dirfd, work->path,
                              AT_STATX_DONT_SYNC | (directory->length ? 0 : AT_EMPTY_PATH),
                              STATX_INO, work->stat);
  if (!failed &&
      ((uint64_t)work->stat->stx_dev_major << 32 | work->stat->stx_dev_minor) != directory->device)
    failed = -EXDEV;
  directory->inode = work->stat->stx_ino;
  return failed;
}

long ses_lustre_default(struct ses_directory *directory, const struct ses_default_work *work,
                        unsigned char *into) {
  long size;
  if (cached(directory->device, directory->inode, into, &size))
    return size;
  size = look_again(directory, work);
  if (size < 0)
    return size;
  size = ask_for_default(directory, work->path, into);
  if (size == -ENODATA)
    size = 0;
  if (size > 0 && directory->inode != ROOT_INODE) {
    enum ses_lov_open open = ses_lov_leaves_open(into, (size_t)size, work->lov);
    long of_root = open == SES_LOV_WHOLE ? 0 : default_of_root(directory, work);
    if (of_root < 0 && open == SES_LOV_NO_STRIPES)
      return of_root;
    if (of_root > 0)
      size = (long)ses_lov_complete(into, (size_t)size, work->root, (size_t)of_root, work->lov);
  }
  if (size >= 0)
    remember(directory->device, directory->inode, into, size);
  return size;
}
