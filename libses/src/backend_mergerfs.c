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
 * Does NOT work, and leaves to the plain call: unions whose policy keeps
 * links on the branches that have the directory already (EXDEV), and unions
 * seen through another mount (bind mounts) than the one the agent names.
 */
#include "backend.h"

#include <fcntl.h>
#include <string.h>

#include "sys.h"

#define FUSE_SUPER_MAGIC 0x65735546ul
#define ANY_INODE 0
#define NAME_LENGTH 17 /* '/' and 16 hexadecimal digits */

/* "/branch/.ses/1000": absolute, below a staging directory, without "..", room for a name. */
static bool is_stage(const char *stage) {
  const char *end = memchr(stage, '\0', SES_STAGE_MAX - NAME_LENGTH);
  return end && stage[0] == '/' && end[-1] != '/' && strstr(stage, "/" SES_STAGE_DIRECTORY "/") &&
         !strstr(stage, "/../") && (end - stage < 3 || strcmp(end - 3, "/..") != 0);
}

static bool accepts(const struct ses_answer *answer) {
  return is_stage(answer->stage) && is_stage(answer->stage_in_union);
}

/* Append the name of the staged file, which is the placement's: no two placements share one. */
static void append_name(char *stage, uint64_t placement_id) {
  char *end = stage + strlen(stage);
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

/*
 * Give the staged file the group the plain call would have given it, and
 * check that it has the mode to be opened a second time (the umask may have
 * taken it away).
 */
static int dress(const struct ses_creation *creation) {
  const char *stage = creation->answer->stage;
  struct statx *stat = creation->stat;
  int failed = ses_sys_statx(AT_FDCWD, stage, AT_SYMLINK_NOFOLLOW, STATX_BASIC_STATS, stat);
  if (failed)
    return failed;
  if (!owner_may_open(stat->stx_mode, creation->flags))
    return -EACCES;
  bool inherits = creation->parent_mode & S_ISGID;
  unsigned group = inherits ? creation->parent_gid : (unsigned)ses_sys0(SYS_getegid);
  if (stat->stx_gid == group)
    return 0;
  if (!inherits) /* the branch gives groups its own way (mount option grpid) */
    return -EPERM;
  return (int)ses_sys5(SYS_fchownat, AT_FDCWD, ses_address(stage), -1, (long)group,
                       AT_SYMLINK_NOFOLLOW);
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
 * plain call opens it, and somebody else may have it open by now; only the
 * union's memory of its link count is set right.  With O_EXCL the name is
 * taken back, because the plain call would meet it (EEXIST); but only if it
 * still is the file made here, as far as that can be told, and empty.
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

/* Open the file under its name, and see whether it is the one made here, with one link left. */
static int reopen(const struct ses_creation *creation, uint64_t inode) {
  int flags = creation->flags & ~(O_CREAT | O_EXCL | O_TRUNC);
  int fd;
  do
    fd = ses_sys_openat(creation->dirfd, creation->path, flags, 0);
  while (fd == -EINTR);
  if (fd < 0)
    return fd;
  /* The union remembers the link count of the moment of the link (2) for a second; FORCE_SYNC
   * makes it look again. */
  struct statx *stat = creation->stat;
  int failed = ses_sys_statx(fd, "", AT_EMPTY_PATH | AT_STATX_FORCE_SYNC, STATX_BASIC_STATS, stat);
  if (failed == 0 && is_file(stat, inode))
    return fd;
  ses_sys_close(fd);
  return failed ? failed : -ESTALE;
}

static int give_name(const struct ses_creation *creation) {
  return (int)ses_sys5(SYS_linkat, AT_FDCWD, ses_address(creation->answer->stage_in_union),
                       creation->dirfd, ses_address(creation->path), 0);
}

/* Look at what has the name now; its two links are the sign that it is the staged file.  INODE is
 * what the union calls it, as long as that is not known ANY_INODE.  Without asking the union: its
 * answer to the link said what has to be known. */
static int look_at_name(const struct ses_creation *creation, uint64_t *inode) {
  struct statx *stat = creation->stat;
  int failed = ses_sys_statx(creation->dirfd, creation->path,
                             AT_SYMLINK_NOFOLLOW | AT_STATX_DONT_SYNC, STATX_BASIC_STATS, stat);
  if (failed)
    return failed;
  if (S_ISLNK(stat->stx_mode))
    return -EXDEV;
  *inode = stat->stx_ino;
  return S_ISREG(stat->stx_mode) && stat->stx_nlink == 2 ? 0 : -ESTALE;
}

static int create(struct ses_creation *creation) {
  struct ses_answer *answer = creation->answer;
  uint64_t inode = ANY_INODE;
  bool named = false;
  append_name(answer->stage, answer->placement_id);
  append_name(answer->stage_in_union, answer->placement_id);

  int failed = (int)ses_sys4(SYS_mknodat, AT_FDCWD, ses_address(answer->stage),
                             (long)(S_IFREG | creation->mode), 0);
  if (failed)
    return failed; /* also EEXIST: then it is not ours to remove */
  failed = dress(creation);
  if (!failed) {
    failed = give_name(creation);
    named = !failed;
  }
  if (!failed)
    failed = look_at_name(creation, &inode);
  unlink_at(AT_FDCWD, answer->stage);

  int fd = failed ? failed : reopen(creation, inode);
  if (fd < 0 && named && fd != -ESTALE) /* ESTALE: somebody else's file has the name by now */
    return take_back(creation, inode, fd);
  return fd;
}

const struct ses_backend_row ses_backend_mergerfs = {
    .backend = SES_BACKEND_MERGERFS,
    .file_system = FUSE_SUPER_MAGIC,
    .accepts = accepts,
    .create = create,
};
