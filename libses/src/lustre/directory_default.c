#include "lustre/directory_default.h"

#include <errno.h>
#include <fcntl.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <string.h>

#include "runtime/clock.h"
#include "runtime/large.h"
#include "runtime/sys.h"

#define SLOTS 32u
#define REMEMBERED_MS 10000u

struct slot {
  _Atomic uint32_t sequence; /* odd: being written */
  uint32_t size;
  uint64_t device;
  uint64_t inode;
  uint64_t until_ms;
  unsigned char bytes[SES_LUSTRE_DEFAULT_MAX];
};

SES_LARGE static struct slot slots[SLOTS];

static struct slot *slot_of(const struct ses_directory *directory) {
  uint64_t mixed = (directory->inode ^ directory->device << 17) * UINT64_C(0x9e3779b97f4a7c15);
  return &slots[mixed >> 59];
}

static bool cache(const struct ses_directory *directory, unsigned char *into, long *size) {
  struct slot *slot = slot_of(directory);
  uint32_t before = atomic_load_explicit(&slot->sequence, memory_order_acquire);
  if (before & 1 || slot->device != directory->device || slot->inode != directory->inode ||
      slot->size > SES_LUSTRE_DEFAULT_MAX || ses_clock_ms() >= slot->until_ms)
    return false;
  *size = slot->size;
  memcpy(into, slot->bytes, slot->size);
  atomic_thread_fence(memory_order_acquire);
  return atomic_load_explicit(&slot->sequence, memory_order_relaxed) == before;
}

static void remember(const struct ses_directory *directory, const unsigned char *bytes, long size) {
  struct slot *slot = slot_of(directory);
  uint32_t before = atomic_load_explicit(&slot->sequence, memory_order_relaxed);
  if (before & 1 ||
      !atomic_compare_exchange_strong_explicit(&slot->sequence, &before, before + 1,
                                               memory_order_acquire, memory_order_relaxed))
    return;
  atomic_thread_fence(memory_order_release);
  slot->size = (uint32_t)size;
  slot->device = directory->device;
  slot->inode = directory->inode;
  slot->until_ms = ses_clock_ms() + REMEMBERED_MS;
  memcpy(slot->bytes, bytes, (size_t)size);
  atomic_store_explicit(&slot->sequence, before + 2, memory_order_release);
}

void ses_lustre_name_fd(int fd, char *into) {
  static const char prefix[] = "/proc/self/fd/";
  char digits[12];
  unsigned count = 0;
  do
    digits[count++] = (char)('0' + fd % 10);
  while ((fd /= 10) > 0);
  memcpy(into, prefix, sizeof prefix - 1);
  into += sizeof prefix - 1;
  while (count > 0)
    *into++ = digits[--count];
  *into = '\0';
}

static long read_by_name(const char *name, unsigned char *into) {
  return ses_sys4(SYS_getxattr, ses_address(name), ses_address("lustre.lov"), ses_address(into),
                  SES_LUSTRE_DEFAULT_MAX);
}

static long read_by_fd(int fd, char *name, unsigned char *into) {
  ses_lustre_name_fd(fd, name); /* unlike the descriptor this also serves one that is O_PATH */
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

long ses_lustre_default(const struct ses_directory *directory, char *scratch, unsigned char *into) {
  long size;
  if (cache(directory, into, &size))
    return size;
  size = ask_for_default(directory, scratch, into);
  if (size == -ENODATA)
    size = 0;
  if (size >= 0)
    remember(directory, into, size);
  return size;
}
