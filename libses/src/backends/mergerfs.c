/*
 * Creating a file on a chosen branch of a mergerfs union.
 *
 * mergerfs has no per-file choice of branch, so the empty file is made on the
 * branch, in a directory only its owner can enter, and gets its name by
 * link() THROUGH THE UNION: the kernel holds the directory's lock of that
 * mount, so of all racing creators exactly one wins, and mergerfs itself
 * clones missing parent directories onto the branch.  The name appears
 * complete and empty, or not at all.
 *
 * Trusts no name twice: a user who can rename the staging directory could have a file
 * of their own under the staged name.  So the descriptor that made the file has
 * to show that the link gave this file its second name, and what is opened has to
 * have its owner, group and mode; else the original call is made.
 *
 * Does NOT work, and leaves to the original call: unions whose policy keeps
 * links on the branches that have the directory already (EXDEV), and unions
 * seen through another mount (bind mounts) than the one the agent names.
 */
#include "backends/backend.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/quota.h>
#include <string.h>
#include <sys/statfs.h>
#include <sys/sysmacros.h>

#include "runtime/sys.h"

#define FUSE_SUPER_MAGIC 0x65735546ul
#define ANY_INODE 0
#define NAME_LENGTH 17 /* '/' and 16 hexadecimal digits */
#define MIN_FREE (1ull << 20)
#define MAX_LOOKS 32 /* at a file that others change */
/* It is the directory in which no file can be placed, whatever the branch: see is_of_element() of
 * the agent. */
#define OF_DIRECTORY (-EXDEV)

#ifndef SYS_quotactl_fd /* Linux 5.14 */
#define SYS_quotactl_fd 443
#endif

/* Is the component at AT, which ends before END, WORD? */
static bool is_component(const char *at, const char *end, const char *word, size_t length) {
  return (size_t)(end - at) >= length && memcmp(at, word, length) == 0 &&
         (at + length == end || at[length] == '/');
}

/* "/branch/.ses/1000": absolute, below a staging directory, without "..", room for a name. */
static bool is_stage(const char *stage) {
  static const char staging[] = SES_STAGE_DIRECTORY;
  const char *end = stage + strnlen(stage, SES_STAGE_MAX - NAME_LENGTH);
  bool below = false;
  if (end == stage + SES_STAGE_MAX - NAME_LENGTH || stage[0] != '/' || end[-1] == '/')
    return false;
  for (const char *at = stage; at < end; at++) {
    if (*at != '/')
      continue;
    if (is_component(at + 1, end, "..", 2))
      return false;
    if (is_component(at + 1, end, staging, sizeof staging - 1))
      below = at + sizeof staging < end;
  }
  return below;
}

static bool accepts(const struct ses_answer *answer) {
  return is_stage(answer->stage) && is_stage(answer->stage_in_union);
}

/* Append the name of the staged file, which is the placement's: no two placements share one. */
static void append_name(char *stage, uint64_t placement_id) {
  char *end = stage + strnlen(stage, SES_STAGE_MAX - NAME_LENGTH);
  *end++ = '/';
  for (int shift = 60; shift >= 0; shift -= 4)
    *end++ = "0123456789abcdef"[placement_id >> shift & 15];
  *end = '\0';
}

/* True when the owner of a file of MODE may open it as FLAGS say. */
static bool owner_may_open(unsigned mode, int flags) {
  int access = flags & O_ACCMODE;
  return (access == O_WRONLY || mode & S_IRUSR) && (access == O_RDONLY || mode & S_IWUSR);
}

/* What was made on the branch, by the descriptor that made it. */
struct staged {
  unsigned uid;
  unsigned gid;
  unsigned mode;
  struct statx_timestamp created;
};

/*
 * Give the staged file FD the group the original call would have given it, and
 * check that it has the mode to be opened a second time (the umask may have
 * taken it away).  Its device and inode on the branch stand in CREATION until the end.
 */
static int set_attributes(struct ses_creation *creation, int fd, struct staged *staged) {
  struct statx *stat = creation->stat;
  int failed = ses_sys_statx(fd, "", AT_EMPTY_PATH, STATX_BASIC_STATS, stat);
  if (failed)
    return failed;
  if (!owner_may_open(stat->stx_mode, creation->flags))
    return -EACCES;
  bool inherits = creation->parent_mode & S_ISGID;
  unsigned group = inherits ? creation->parent_gid : (unsigned)ses_sys0(SYS_getegid);
  *staged = (struct staged){stat->stx_uid, group, stat->stx_mode, stat->stx_mtime};
  creation->device = (uint64_t)makedev(stat->stx_dev_major, stat->stx_dev_minor);
  creation->inode = stat->stx_ino;
  if (stat->stx_gid == group)
    return 0;
  if (!inherits) /* the branch gives groups its own way (mount option grpid) */
    return -EPERM;
  failed = (int)ses_sys3(SYS_fchown, fd, -1, (long)group);
  return failed == -EPERM ? OF_DIRECTORY : failed; /* the program is not of that group */
}

static int unlink_at(int dirfd, const char *path) {
  return (int)ses_sys3(SYS_unlinkat, dirfd, ses_address(path), 0);
}

static bool is_file(const struct statx *stat, uint64_t inode) {
  return S_ISREG(stat->stx_mode) && (inode == ANY_INODE || stat->stx_ino == inode);
}

/*
 * After FAILED with the name given; returns what to report.  Some unions answer
 * a link they cannot make with a symbolic one (option link-exdev), which shows
 * when the staged file is gone.  Without O_EXCL a file stays: the
 * original call opens it, and somebody else may have it open by now; only the
 * union's memory of its link count is set right.  With O_EXCL the name is
 * taken back, because the original call would meet it (EEXIST); but only if it
 * still is the file made here, as far as that can be seen, and empty.
 */
static int take_back(const struct ses_creation *creation, uint64_t inode, int failed) {
  struct statx *stat = creation->stat;
  if (ses_sys_statx(creation->dirfd, creation->path, AT_SYMLINK_NOFOLLOW | AT_STATX_FORCE_SYNC,
                    STATX_BASIC_STATS, stat) != 0)
    return failed;
  bool linked = S_ISLNK(stat->stx_mode);
  if (linked || ((creation->flags & O_EXCL) && is_file(stat, inode) && stat->stx_size == 0))
    unlink_at(creation->dirfd, creation->path);
  return linked ? -EXDEV : failed;
}

/*
 * FAILED, why the staged file could not get its name.  EPERM is of the branch where its file system
 * has no hard links, and else of the directory alone, which is immutable (chattr +i), say.  A link
 * beside the staged file shows which.
 */
static __attribute__((noinline)) int refused_by(const struct ses_creation *creation, int failed) {
  struct ses_answer *answer = creation->answer;
  char *beside = answer->stage_in_union; /* which was of use until now */
  if (failed != -EPERM)
    return failed;
  unsigned length = 0;
  for (; answer->stage[length]; length++)
    beside[length] = answer->stage[length];
  beside[length] = '\0';
  beside[length - (NAME_LENGTH - 1)] = 'l';
  if (ses_sys5(SYS_linkat, AT_FDCWD, ses_address(answer->stage), AT_FDCWD, ses_address(beside),
               0) != 0)
    return failed;
  unlink_at(AT_FDCWD, beside);
  return OF_DIRECTORY;
}

/* It is reached by another mount of the union, or a read-only one, or is not the program's to
 * write: the branch took the staged file. */
static int give_name(const struct ses_creation *creation) {
  int failed = (int)ses_sys5(SYS_linkat, AT_FDCWD, ses_address(creation->answer->stage_in_union),
                             creation->dirfd, ses_address(creation->path), 0);
  return failed == -EROFS || failed == -EACCES ? OF_DIRECTORY : refused_by(creation, failed);
}

static __attribute__((noinline)) int open_name(const struct ses_creation *creation) {
  int flags = creation->flags & ~(O_CREAT | O_EXCL | O_TRUNC);
  int fd;
  do
    fd = ses_sys_openat(creation->dirfd, creation->path, flags, 0);
  while (fd == -EINTR);
  return fd;
}

/* Does what was seen last look like the staged file, by what nobody else can give a file? */
static bool is_staged(const struct statx *stat, const struct staged *staged) {
  const struct statx_timestamp *changed = &stat->stx_mtime, *created = &staged->created;
  return stat->stx_uid == staged->uid && stat->stx_gid == staged->gid &&
         stat->stx_mode == staged->mode &&
         (changed->tv_sec > created->tv_sec ||
          (changed->tv_sec == created->tv_sec && changed->tv_nsec >= created->tv_nsec));
}

/*
 * Has the link given its second name to the file that FD made?  If not, the
 * name leads to what somebody put in the place of the staged file, or is a
 * symbolic link (option link-exdev of some unions): it goes, before the plain
 * call would open it.  0, or what is wrong.
 */
static int check_link(const struct ses_creation *creation, int fd, const struct staged *staged) {
  struct statx *stat = creation->stat;
  int flags = AT_EMPTY_PATH | AT_STATX_FORCE_SYNC;
  int failed = ses_sys_statx(fd, "", flags, STATX_BASIC_STATS, stat);
  if (failed || stat->stx_nlink > 1)
    return failed;
  flags = AT_SYMLINK_NOFOLLOW | AT_STATX_FORCE_SYNC;
  if (ses_sys_statx(creation->dirfd, creation->path, flags, STATX_BASIC_STATS, stat) != 0)
    return -ESTALE;
  bool linked = S_ISLNK(stat->stx_mode);
  if (linked || stat->stx_nlink > 1 || !is_staged(stat, staged))
    unlink_at(creation->dirfd, creation->path);
  return linked ? -EXDEV : -ESTALE;
}

/* Is what lies there, looked at with FLAGS, the staged file?  Its two links are a sign of it. */
static int look(const struct ses_creation *creation, const struct staged *staged, int dirfd,
                const char *path, int flags, uint64_t *inode) {
  struct statx *stat = creation->stat;
  int failed = ses_sys_statx(dirfd, path, flags, STATX_BASIC_STATS, stat);
  if (failed)
    return failed;
  if (S_ISLNK(stat->stx_mode))
    return -EXDEV;
  *inode = stat->stx_ino;
  return stat->stx_nlink >= 2 && is_staged(stat, staged) ? 0 : -ESTALE;
}

/* Now that it has its name, others may change the file, too (chown -R, a watcher of the directory):
 * has it other attributes than STAGED, under its first name?  They are STAGED's then. */
static __attribute__((noinline)) bool has_changed(const struct ses_creation *creation,
                                                  struct staged *staged) {
  struct statx *stat = creation->stat;
  int flags = AT_SYMLINK_NOFOLLOW;
  if (ses_sys_statx(AT_FDCWD, creation->answer->stage, flags, STATX_BASIC_STATS, stat) != 0 ||
      stat->stx_ino != creation->inode ||
      makedev(stat->stx_dev_major, stat->stx_dev_minor) != creation->device)
    return false;
  bool changed = stat->stx_uid != staged->uid || stat->stx_gid != staged->gid ||
                 stat->stx_mode != staged->mode ||
                 stat->stx_mtime.tv_sec != staged->created.tv_sec ||
                 stat->stx_mtime.tv_nsec != staged->created.tv_nsec;
  staged->uid = stat->stx_uid;
  staged->gid = stat->stx_gid;
  staged->mode = stat->stx_mode;
  staged->created = stat->stx_mtime;
  return changed;
}

/*
 * Is it the staged file all the same, of which the union shows another owner, group or mode than it
 * has (mount options umask, uid and gid)?  Files cannot be known by them there.  Both of its names
 * have its time, and the first one all that is STAGED.
 */
static __attribute__((noinline)) bool is_disguised(const struct ses_creation *creation,
                                                   const struct staged *staged) {
  struct statx *stat = creation->stat;
  int flags = AT_SYMLINK_NOFOLLOW;
  if (ses_sys_statx(AT_FDCWD, creation->answer->stage, flags, STATX_BASIC_STATS, stat) != 0 ||
      stat->stx_ino != creation->inode || stat->stx_nlink < 2 || !is_staged(stat, staged))
    return false;
  flags |= AT_STATX_FORCE_SYNC;
  return ses_sys_statx(creation->dirfd, creation->path, flags, STATX_BASIC_STATS, stat) == 0 &&
         is_file(stat, ANY_INODE) && stat->stx_nlink >= 2 && stat->stx_size == 0 &&
         stat->stx_mtime.tv_sec == staged->created.tv_sec &&
         stat->stx_mtime.tv_nsec == staged->created.tv_nsec;
}

/*
 * FD is what the name led to, or why it led nowhere; INODE is then what the
 * union calls the staged file, which has to have its first name still.  0, or
 * what is wrong.  The name is looked at only then: the way to it costs more
 * than the open file.
 */
static int identify(const struct ses_creation *creation, struct staged *staged, int fd,
                    uint64_t *inode) {
  int looks = 0;
  int seen = 0;
  int failed;
  do { /* at first the union's answer to the link suffices */
    int sync = looks == 0 ? AT_STATX_DONT_SYNC : AT_STATX_FORCE_SYNC;
    failed = fd < 0 ? fd : look(creation, staged, fd, "", AT_EMPTY_PATH | sync, inode);
    if (failed)
      seen = look(creation, staged, creation->dirfd, creation->path, AT_SYMLINK_NOFOLLOW | sync,
                  inode);
  } while (failed && seen == -ESTALE && ++looks < MAX_LOOKS && has_changed(creation, staged));
  if (failed && seen == -ESTALE && is_disguised(creation, staged))
    return -EOPNOTSUPP;
  return failed && (seen == -EXDEV || seen == -ESTALE) ? seen : failed;
}

/* The union caches the link count it saw at the link (2) for a second; FORCE_SYNC makes
 * it look again. */
static int refresh(const struct ses_creation *creation, int fd, uint64_t inode) {
  struct statx *stat = creation->stat;
  int failed = ses_sys_statx(fd, "", AT_EMPTY_PATH | AT_STATX_FORCE_SYNC, STATX_BASIC_STATS, stat);
  return failed ? failed : is_file(stat, inode) ? 0 : -ESTALE;
}

/* From the file that has its name now to its descriptor, or -errno; INODE is as take_back() needs
 * it.
 */
static int settle(const struct ses_creation *creation, struct staged *staged, uint64_t *inode) {
  int fd = open_name(creation);
  int failed = identify(creation, staged, fd, inode);
  unlink_at(AT_FDCWD, creation->answer->stage);
  if (!failed)
    failed = refresh(creation, fd, *inode);
  if (!failed)
    return fd;
  if (fd >= 0)
    ses_sys_close(fd);
  return failed;
}

/*
 * Why the file system of FD has no room for a file of BYTES, or 0.  What the
 * choice knew of it is a second or two old, and a file of no size can be made where its first byte
 * does not fit: -ENOSPC.  With -EFBIG it takes other files; the union chooses, which looks itself.
 * Not where it reports no size at all.
 */
static __attribute__((noinline)) int no_room(int fd, uint64_t bytes) {
  struct statfs space;
  if (ses_sys2(SYS_fstatfs, fd, ses_address(&space)) != 0 || space.f_blocks == 0)
    return 0;
  uint64_t unit = (uint64_t)(space.f_frsize ? space.f_frsize : space.f_bsize);
  uint64_t left = space.f_bavail * unit;
  return left < MIN_FREE ? -ENOSPC : left < bytes ? -EFBIG : 0;
}

/*
 * Why the quota of KIND forbids the staged file to become BYTES large where FD is, or 0.  To make a
 * file takes one more inode of a quota, and often no byte: that none is left shows at its first
 * write, when it is too late for another branch.  Above the soft limit nothing is left.  Of a small
 * quota 0.6 have to be left, as of a small branch.  Nobody may ask for others, and root is held to
 * none.
 */
static __attribute__((noinline)) int no_quota(int fd, int kind, const struct staged *staged,
                                              uint64_t bytes) {
  struct if_dqblk quota;
  long id = kind == USRQUOTA ? staged->uid : staged->gid;
  if (staged->uid == 0 ||
      ses_sys4(SYS_quotactl_fd, fd, QCMD(Q_GETQUOTA, kind), id, ses_address(&quota)) != 0)
    return 0;
  uint64_t limit = quota.dqb_bhardlimit, used = quota.dqb_curspace;
  if (quota.dqb_bsoftlimit && (limit == 0 || used / QIF_DQBLKSIZE > quota.dqb_bsoftlimit))
    limit = quota.dqb_bsoftlimit;
  if (limit == 0 || limit > UINT64_MAX / QIF_DQBLKSIZE)
    return 0;
  limit *= QIF_DQBLKSIZE;
  uint64_t left = used < limit ? limit - used : 0, ample = limit / 10 * 6;
  return left < MIN_FREE ? -EDQUOT : left < (bytes < ample ? bytes : ample) ? -EFBIG : 0;
}

/*
 * Make the staged file; its descriptor, or -errno.  Opened, not only made: so it
 * shows, while nothing has the name yet, that the program can have one more
 * descriptor, without which the original call creates no file.
 */
static int stage(struct ses_creation *creation, struct staged *staged) {
  const char *path = creation->answer->stage;
  int flags = O_RDONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC;
  int fd = ses_sys_openat(AT_FDCWD, path, flags, creation->mode);
  if (fd < 0)
    return fd; /* also EEXIST: then the file is another one, and stays */
  int failed = no_room(fd, creation->bytes);
  if (!failed)
    failed = set_attributes(creation, fd, staged);
  if (!failed)
    failed = no_quota(fd, USRQUOTA, staged, creation->bytes);
  if (!failed)
    failed = no_quota(fd, GRPQUOTA, staged, creation->bytes);
  if (!failed)
    return fd;
  ses_sys_close(fd);
  unlink_at(AT_FDCWD, path);
  return failed;
}

static int create(struct ses_creation *creation) {
  struct ses_answer *answer = creation->answer;
  struct staged staged = {0};
  struct statx stat;
  creation->stat = &stat;
  append_name(answer->stage, answer->placement_id);
  append_name(answer->stage_in_union, answer->placement_id);

  int fd = stage(creation, &staged);
  creation->unstaged = fd == -ENOENT;
  if (fd < 0)
    return fd;
  int not_linked = give_name(creation);
  int failed = not_linked ? not_linked : check_link(creation, fd, &staged);
  ses_sys_close(fd); /* before the name is opened: the program gets the lowest number */
  uint64_t inode = ANY_INODE;
  bool is_named = !not_linked && failed != -EXDEV;
  if (failed)
    unlink_at(AT_FDCWD, answer->stage);
  else if ((fd = settle(creation, &staged, &inode)) < 0)
    failed = fd;
  if (failed) /* ESTALE: somebody else's file has the name by now. */
    return is_named && failed != -ESTALE ? take_back(creation, inode, failed) : failed;
  creation->device = (uint64_t)makedev(stat.stx_dev_major, stat.stx_dev_minor);
  creation->inode = stat.stx_ino;
  return fd;
}

const struct ses_backend_row ses_backend_mergerfs = {
    .backend = SES_BACKEND_MERGERFS,
    .file_system = FUSE_SUPER_MAGIC,
    .accepts = accepts,
    .create = create,
};
