/*
 * Creating a file on Lustre with a layout of our choice.
 *
 * Two steps, which other clients can come between: an exclusive open with the
 * delay flag makes a file that has a name and no objects; then the attribute
 * "lustre.lov" gives it the layout that its directory would have given it,
 * with the choice put in.  A file without objects cannot be written (EBADF),
 * so whatever happens after the first step ends in one of two ways: the
 * program gets a descriptor of a file with objects, or the name is gone again
 * and the original call is made.
 *
 * Does NOT touch: files that exist; creates for reading only and mknod(),
 * which on Lustre make no objects either, so that programs that stripe for
 * themselves (tar --xattrs makes the node first) find them so; O_APPEND, for
 * which a site has rules of its own; volatile files; O_ASYNC, which Lustre takes
 * away together with the delay flag, and with O_NOCTTY is the sign of a program
 * that stripes for itself.
 *
 * An OST whose server is down can hold up the second step beyond any signal;
 * that such OSTs are never asked for is the agent's part.
 */
#include "backends/backend.h"

#include <fcntl.h>
#include <linux/limits.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/sysmacros.h>

#include "lustre/directory_default.h"
#include "lustre/evidence.h"
#include "lustre/layout.h"
#include "request/need.h"
#include "runtime/area.h"
#include "runtime/fd_path.h"
#include "runtime/large.h"
#include "runtime/sys.h"

#define LL_SUPER_MAGIC 0x0bd00bd0ul
#define DELAY_CREATE (O_NOCTTY | FASYNC)
#define VOLATILE_PREFIX ".\x0c\x13\x14\x12:VOLATILE"
#define PATH_ROOM 1024
#define BLOB_ROOM 2048
#define NAMELESS ".ses-"
#define NAMELESS_SIZE (sizeof NAMELESS + 16)

_Static_assert(BLOB_ROOM >= SES_LUSTRE_DEFAULT_MAX, "the root's default can be read into a blob");
_Static_assert(SES_OSTS_MAX == SES_LOV_OSTS_MAX, "every list in an answer fits into a layout");
_Static_assert(SES_LUSTRE_POOL == (int)SES_LOV_POOL && SES_LUSTRE_LIST == (int)SES_LOV_LIST &&
                   SES_LUSTRE_OFFSET == (int)SES_LOV_OFFSET,
               "forms have the same numbers in answers and in layouts");

_Static_assert(SES_WIDTH_ALL == SES_LOV_ALL_OSTS, "widths are stripe counts");

/* One create under way. */
struct making {
  struct ses_creation *creation;
  struct area *area;
  long inherited; /* bytes of area->inherited */
  uint64_t inode; /* of the file */
  unsigned mode;  /* the file's, with the umask taken off */
  int fd;
};

/* Layouts of several components need more room than there is on the stack; see area.h. */
struct area {
  _Atomic long owner;
  struct making making;
  struct ses_lov_work work;
  struct ses_lov_choice choice;
  struct ses_directory directory;
  struct ses_default_work reading;
  struct statx stat;
  char path[PATH_ROOM];
  unsigned char inherited[SES_LUSTRE_DEFAULT_MAX];
  unsigned char blob[BLOB_ROOM];
};

#define AREAS 16u
SES_LARGE static struct area areas[AREAS];

static struct area *take_area(void) {
  for (unsigned i = 0; i < AREAS; i++)
    if (ses_area_take(&areas[i].owner))
      return &areas[i];
  return NULL;
}

static bool accepts(const struct ses_answer *answer) {
  if (!memchr(answer->pool, '\0', sizeof answer->pool) || answer->ost_count > SES_OSTS_MAX ||
      answer->stripe_size > UINT32_MAX)
    return false;
  switch (answer->lustre_form) {
  case SES_LUSTRE_POOL:
    return answer->pool[0] != '\0';
  case SES_LUSTRE_LIST:
  case SES_LUSTRE_OFFSET:
    return answer->ost_count > 0;
  default:
    return false;
  }
}

static bool suits(const char *name, int flags) {
  return (flags & O_ACCMODE) != O_RDONLY && !(flags & (O_APPEND | FASYNC | SES_PLACE_NODE)) &&
         strncmp(name, VOLATILE_PREFIX, sizeof VOLATILE_PREFIX - 1) != 0;
}

/* The layout for FORM in area->blob; its size, or -errno. */
static __attribute__((noinline)) long compose(const struct making *making, unsigned form) {
  const struct ses_answer *answer = making->creation->answer;
  struct ses_lov_choice *choice = &making->area->choice;
  *choice = (struct ses_lov_choice){.form = (enum ses_lov_form)form,
                                    .pool = answer->pool,
                                    .osts = answer->osts,
                                    .ost_count = answer->ost_count,
                                    .stripe_count = answer->stripe_count,
                                    .stripe_size = (uint32_t)answer->stripe_size};
  return ses_lov_edit(making->area->inherited, (size_t)making->inherited, choice,
                      making->area->blob, BLOB_ROOM, &making->area->work);
}

static long set_layout(int fd, const void *blob, size_t size) {
  return ses_sys5(SYS_fsetxattr, fd, ses_address("lustre.lov"), ses_address(blob), (long)size, 0);
}

/* The file's layout into BYTES: its size, or -errno (-ENODATA: it has none).  No RPC: the client
 * holds it. */
static long get_layout(const struct making *making, void *bytes, long room) {
  return ses_sys4(SYS_fgetxattr, making->fd, ses_address("lustre.lov"), ses_address(bytes), room);
}

static bool lies_as_chosen(const struct making *making, const void *bytes, long size) {
  const struct ses_answer *answer = making->creation->answer;
  struct ses_lov_members members = {answer->members, SES_MEMBER_WORDS};
  struct ses_lov_choice *choice = &making->area->choice;
  choice->form = (enum ses_lov_form)answer->lustre_form;
  return size > 0 && ses_lov_lies_as(bytes, (size_t)size, choice, &members, &making->area->work);
}

/* The same for a layout of more objects than area->blob has room for. */
static __attribute__((noinline)) bool wide_lies_as_chosen(const struct making *making) {
  long mapped = ses_sys6(SYS_mmap, 0, XATTR_SIZE_MAX, PROT_READ | PROT_WRITE,
                         MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (mapped < 0 && mapped >= -4095)
    return false;
  void *bytes = (void *)mapped; // NOLINT
  bool lies = lies_as_chosen(making, bytes, get_layout(making, bytes, XATTR_SIZE_MAX));
  ses_sys2(SYS_munmap, mapped, XATTR_SIZE_MAX);
  return lies;
}

/* Do the objects that the file has lie where the answer put them?  Success of the call that sets a
 * layout proves nothing: a file that has one by now keeps it.  It has one in any case: a client
 * that was not the one to set it may only not know it yet (ENODATA). */
static bool is_proven(const struct making *making) {
  long size = get_layout(making, making->area->blob, BLOB_ROOM);
  return size == -ERANGE ? wide_lies_as_chosen(making)
                         : lies_as_chosen(making, making->area->blob, size);
}

/* Give the file a layout of FORM.  0: it has one now, perhaps another (creation->strayed); or
 * -errno: it has none. */
static __attribute__((noinline)) int give_layout(struct making *making, unsigned form) {
  long size = compose(making, form);
  if (size < 0)
    return (int)size;
  long failed = set_layout(making->fd, making->area->blob, (size_t)size);
  if (failed == -EACCES && !(making->mode & S_IWUSR)) {
    /* The umask or a default ACL left the owner no right to write: lend it for this step. */
    ses_sys2(SYS_fchmod, making->fd, (long)(making->mode | S_IRUSR | S_IWUSR));
    failed = set_layout(making->fd, making->area->blob, (size_t)size);
    ses_sys2(SYS_fchmod, making->fd, (long)making->mode);
  }
  if (failed)
    return (int)failed;
  if (!is_proven(making))
    making->creation->strayed = EEXIST;
  return 0;
}

static int stat_file(const struct making *making, int dirfd, const char *path, int flags) {
  return ses_sys_statx(dirfd, path, flags, STATX_BASIC_STATS, making->creation->stat);
}

/* The same file, on the directory's device? */
static bool is_ours(const struct making *making) {
  const struct statx *stat = making->creation->stat;
  return stat->stx_ino == making->inode && stat->stx_dev_major == making->creation->parent_major &&
         stat->stx_dev_minor == making->creation->parent_minor;
}

/* Take the name back, if it still is that of the empty file made here and, as far as HANDLE shows,
 * that has no objects. */
static void take_back(const struct making *making, const char *handle) {
  const struct ses_creation *creation = making->creation;
  if (stat_file(making, creation->dirfd, creation->path, AT_SYMLINK_NOFOLLOW) == 0 &&
      is_ours(making) && creation->stat->stx_size == 0 && creation->stat->stx_nlink == 1 &&
      (!handle ||
       ses_sys4(SYS_getxattr, ses_address(handle), ses_address("lustre.lov"), 0, 0) == -ENODATA))
    ses_sys3(SYS_unlinkat, creation->dirfd, ses_address(creation->path), 0);
}

/* An empty layout: the file system's own default. */
static const unsigned char nothing_said[32] = {0xd0, 0x0b, 0xd1, 0x0b, [30] = 0xff, [31] = 0xff};

/* See that the file just opened is the one made here, and that it can be written. */
static __attribute__((noinline)) int check_plain(struct making *making) {
  int failed = stat_file(making, making->fd, "", AT_EMPTY_PATH | AT_STATX_DONT_SYNC);
  if (failed)
    return failed;
  if (!is_ours(making))
    return -ESTALE;
  if (get_layout(making, making->area->blob, BLOB_ROOM) != -ENODATA)
    return 0;
  /* Another process of this node has it open without objects, and the handle was shared. */
  return (int)(making->inherited
                   ? set_layout(making->fd, making->area->inherited, (size_t)making->inherited)
                   : set_layout(making->fd, nothing_said, sizeof nothing_said));
}

/* Open the file once more, without the delay flag: the server makes objects by the site's rules.
 * Not while the delayed descriptor is open, whose handle on this client would be shared. */
static int open_plainly(struct making *making, const char *handle) {
  const struct ses_creation *creation = making->creation;
  int flags = creation->flags & ~(O_CREAT | O_EXCL | O_TRUNC);
  ses_sys_close(making->fd);
  if (handle && !(flags & O_NOFOLLOW))
    making->fd = ses_sys_openat(AT_FDCWD, handle, flags, 0);
  else
    making->fd = ses_sys_openat(creation->dirfd, creation->path, flags, 0);
  if (making->fd < 0)
    return making->fd;
  int failed = check_plain(making);
  if (failed)
    ses_sys_close(making->fd);
  return failed;
}

/* An exclusive create that succeeded must not end with EEXIST because somebody has given the name
 * to another file since.  After the original call the program would have a file without a name, so
 * it gets one.  The lost file's number is nobody else's. */
static __attribute__((noinline)) int make_nameless(const struct making *making) {
  const struct ses_creation *creation = making->creation;
  char *name = making->area->path;
  char *end = name + creation->parent_length;
  memcpy(name, creation->path, creation->parent_length);
  memcpy(end, NAMELESS, sizeof NAMELESS);
  end += sizeof NAMELESS - 1;
  for (unsigned shift = 64; shift > 0; shift -= 4)
    *end++ = "0123456789abcdef"[making->inode >> (shift - 4) & 15];
  *end = '\0';
  int fd = ses_sys_openat(creation->dirfd, name, creation->flags, creation->mode);
  if (fd >= 0)
    ses_sys3(SYS_unlinkat, creation->dirfd, ses_address(name), 0);
  return fd;
}

/* The file made here is lost: does its name belong to another one? */
static bool is_replaced(const struct making *making) {
  const struct ses_creation *creation = making->creation;
  return stat_file(making, creation->dirfd, creation->path, AT_SYMLINK_NOFOLLOW) == 0 &&
         !is_ours(making);
}

/* The file has no objects and our layouts were refused: the site's default, or nothing at all. */
static __attribute__((noinline)) int fall_back(struct making *making) {
  char *name = making->area->path;
  ses_fd_path(making->fd, name);
  int held = ses_sys_openat(AT_FDCWD, name, O_PATH | O_CLOEXEC, 0);
  const char *handle = held >= 0 ? name : NULL; /* no /proc, or no descriptor left */
  bool lent = !(making->mode & S_IWUSR);
  if (held >= 0)
    ses_fd_path(held, name);
  if (lent)
    ses_sys2(SYS_fchmod, making->fd, (long)(making->mode | S_IRUSR | S_IWUSR));
  int failed = open_plainly(making, handle);
  if (failed)
    take_back(making, handle);
  else if (lent)
    ses_sys2(SYS_fchmod, making->fd, (long)making->mode);
  if (held >= 0)
    ses_sys_close(held);
  if (failed && making->creation->flags & O_EXCL && is_replaced(making))
    return make_nameless(making);
  return failed ? failed : making->fd;
}

/* From a file without objects to a descriptor of one with objects, or -errno and no file. */
static int settle(struct making *making) {
  struct ses_creation *creation = making->creation;
  const struct ses_answer *answer = creation->answer;
  int failed = stat_file(making, making->fd, "", AT_EMPTY_PATH | AT_STATX_DONT_SYNC);
  making->inode = creation->stat->stx_ino;
  making->mode = creation->stat->stx_mode & 07777;
  if (!failed && !is_ours(making)) /* the way led to another file system meanwhile */
    failed = -EXDEV;
  if (failed) {
    ses_sys3(SYS_unlinkat, creation->dirfd, ses_address(creation->path), 0);
    ses_sys_close(making->fd);
    return failed;
  }
  failed = give_layout(making, answer->lustre_form);
  if (!failed)
    return making->fd;
  int first = -failed;
  if (answer->lustre_form != SES_LUSTRE_POOL && answer->pool[0] && failed != -ESTALE)
    failed = give_layout(making, SES_LUSTRE_POOL);
  creation->strayed = first;
  return failed ? fall_back(making) : making->fd;
}

/* The default of the file's directory into area->inherited: 0 or -errno. */
static __attribute__((noinline)) int inherit(struct making *making) {
  const struct ses_creation *creation = making->creation;
  struct area *area = making->area;
  if (creation->parent_length > PATH_ROOM - NAMELESS_SIZE)
    return -ENAMETOOLONG;
  area->directory = (struct ses_directory){.dirfd = creation->dirfd,
                                           .path = creation->path,
                                           .length = creation->parent_length,
                                           .device = (uint64_t)creation->parent_major << 32 |
                                                     creation->parent_minor,
                                           .inode = creation->parent_inode};
  area->reading = (struct ses_default_work){.path = area->path,
                                            .root = area->blob, /* nothing is in it yet */
                                            .lov = &area->work,
                                            .stat = creation->stat};
  making->inherited = ses_lustre_default(&area->directory, &area->reading, area->inherited);
  return making->inherited < 0 ? (int)making->inherited : 0;
}

static int make(struct making *making) {
  const struct ses_creation *creation = making->creation;
  int failed = inherit(making);
  if (failed)
    return failed;
  long size = compose(making, creation->answer->lustre_form);
  if (size < 0) /* nothing of this default may be changed */
    return (int)size;
  making->fd = ses_sys_openat(creation->dirfd, creation->path,
                              creation->flags | O_EXCL | DELAY_CREATE, creation->mode);
  return making->fd < 0 ? making->fd : settle(making);
}

static int create(struct ses_creation *creation) {
  struct area *area = take_area();
  if (!area)
    return -EAGAIN;
  area->making = (struct making){.creation = creation, .area = area};
  creation->stat = &area->stat;
  int fd = make(&area->making);
  creation->device = (uint64_t)makedev(area->stat.stx_dev_major, area->stat.stx_dev_minor);
  creation->inode = area->stat.stx_ino;
  ses_area_give_back(&area->owner);
  return fd;
}

static unsigned width(struct ses_creation *creation) {
  struct area *area = take_area();
  if (!area)
    return 0;
  area->making = (struct making){.creation = creation, .area = area};
  creation->stat = &area->stat;
  unsigned stripes =
      inherit(&area->making) == 0
          ? ses_lov_width(area->inherited, (size_t)area->making.inherited, &area->work)
          : 0;
  ses_area_give_back(&area->owner);
  return stripes;
}

const struct ses_backend_row ses_backend_lustre = {
    .backend = SES_BACKEND_LUSTRE,
    .file_system = LL_SUPER_MAGIC,
    .in_place = true,
    .accepts = accepts,
    .suits = suits,
    .width = width,
    .create = create,
};
