/*
 * sequence SEED COUNT DIRECTORY: COUNT random calls that may create files in DIRECTORY, and for
 * each a line with everything a program could notice about it.  The same seed makes the same calls,
 * whatever they answer.
 *
 * Between them the directory, the mode mask, the limits and the open descriptors are changed at
 * random, and every ROUND calls the directory is told, emptied and furnished anew.  Inode numbers,
 * times and the letters of temporary names are not told: they differ between any two runs.
 */
#define _GNU_SOURCE
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <ftw.h>
#include <signal.h>
#include <spawn.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "choices.h"

#define ROUND 200
#define UNTOUCHED 4321
#define FIRST_FD 40 /* descriptors below are the calls' to get */
#define REPORT 200
#define KEPT 6
#define OTHER_GROUP 1234

static FILE *report; /* on a descriptor out of the calls' reach */
static char top[PATH_MAX];
static int kept[KEPT]; /* descriptors left open, or -1 */
static int dirfds[6];  /* the top, a directory below, O_PATH, a file, a closed one, none */

/* The error of the last call.  A mergerfs tells that a directory has been removed in two ways, by
 * the age of what the kernel remembers of it. */
static int last_error(void) { return errno == ESTALE ? ENOENT : errno; }

static void tell_descriptor(int fd) {
  struct stat stat;
  if (fd < 0 || fstat(fd, &stat) != 0)
    return;
  fprintf(report, " getfl=%o getfd=%d mode=%o uid=%u gid=%u links=%lu size=%ld at=%ld",
          (unsigned)fcntl(fd, F_GETFL), fcntl(fd, F_GETFD), stat.st_mode, stat.st_uid, stat.st_gid,
          S_ISDIR(stat.st_mode) ? 0 : (unsigned long)stat.st_nlink,
          S_ISDIR(stat.st_mode) ? 0 : (long)stat.st_size, (long)lseek(fd, 0, SEEK_CUR));
}

/* Keep a descriptor open among the others, or close it, after writing to it perhaps. */
static void settle(int fd) {
  if (fd < 0)
    return;
  if (pick(3) == 0)
    fprintf(report, " wrote=%zd", write(fd, "0123456789", pick(10)));
  unsigned slot = pick(KEPT * 3);
  if (slot < KEPT) {
    if (kept[slot] >= 0)
      close(kept[slot]);
    kept[slot] = fd;
  } else {
    close(fd);
  }
}

static void tell_open(int fd) {
  int error = last_error();
  fprintf(report, " = %d errno=%d", fd, error);
  tell_descriptor(fd);
  settle(fd);
}

static void tell_stream(FILE *stream) {
  int error = last_error();
  fprintf(report, " = %d errno=%d", stream ? fileno(stream) : -1, error);
  if (!stream)
    return;
  tell_descriptor(fileno(stream));
  int put = fputs("text", stream);
  fprintf(report, " put=%d at=%ld", put > 0, ftell(stream));
  fprintf(report, " close=%d", fclose(stream));
}

static void make_temporary(char *space) {
  static const char *const patterns[] = {"tXXXXXX",
                                         "directory/tXXXXXX",
                                         "XXXXXX",
                                         "tXXXXX",
                                         "tXXXXXX.c",
                                         "missing/tXXXXXX",
                                         "tXXXXXXXXXX",
                                         "read-only/tXXXXXX",
                                         "handed-on/tXXXXXX",
                                         ""};
  strcpy(space, ANY(patterns));
  int suffix = (int)pick(4) == 0 ? (int)pick(5) - 1 : strstr(space, ".c") ? 2 : 0;
  int flags = any_flags();
  char before[32];
  snprintf(before, sizeof before, "%.31s", space);
  unsigned which = pick(4);
  errno = UNTOUCHED;
  int fd = which == 0   ? mkstemp(space)
           : which == 1 ? mkostemp(space, flags & ~O_TMPFILE)
           : which == 2 ? mkstemps(space, suffix)
                        : mkostemps64(space, suffix, flags & ~O_TMPFILE);
  int error = last_error();
  fprintf(report, "temporary %u %s %d %o named=%d", which, before, suffix, (unsigned)flags,
          strcmp(before, space) != 0);
  fprintf(report, " = %d errno=%d", fd, error);
  tell_descriptor(fd);
  if (fd >= 0) {
    fprintf(report, " unlinked=%d", unlink(space));
    close(fd);
  }
}

/* What a child that was spawned has of its descriptors. */
static int look(void) {
  for (int fd = 0; fd < FIRST_FD; fd++) {
    struct stat stat;
    int flags = fcntl(fd, F_GETFL);
    if (flags >= 0 && fstat(fd, &stat) == 0)
      dprintf(REPORT, " %d:%o:%o", fd, (unsigned)flags, stat.st_mode);
  }
  return 0;
}

static void start(void) {
  static char space[PATH_SPACE];
  posix_spawn_file_actions_t actions;
  posix_spawnattr_t attributes;
  char *own[] = {"/proc/self/exe", NULL};
  pid_t child = -1;
  posix_spawn_file_actions_init(&actions);
  posix_spawnattr_init(&attributes);
  posix_spawnattr_setflags(&attributes, pick(6) ? 0 : POSIX_SPAWN_RESETIDS);
  fprintf(report, "spawn");
  for (unsigned count = 1 + pick(4); count > 0; count--) {
    int fd = (int)pick(12);
    int to = (int)pick(12);
    int flags = any_flags();
    mode_t mode = any_mode();
    const char *name = any_name();
    unsigned kind = pick(9);
    fprintf(report, " %u:%d:%d:%o:%o:%.40s", kind, fd, to, (unsigned)flags, mode, name);
    snprintf(space, PATH_MAX, pick(4) ? "%s" : "./%s", name);
    if (kind < 5)
      posix_spawn_file_actions_addopen(&actions, fd, space, flags | (pick(3) ? O_CREAT : 0), mode);
    else if (kind == 5)
      posix_spawn_file_actions_addopen(&actions, fd, "/dev/null", O_RDWR, 0);
    else if (kind == 6)
      posix_spawn_file_actions_addclose(&actions, fd);
    else if (kind == 7 || pick(4))
      posix_spawn_file_actions_adddup2(&actions, fd, to);
    else
      posix_spawn_file_actions_addchdir_np(&actions, "directory");
  }
  struct rlimit limit; /* a dynamic program needs descriptors to start, with a library one more */
  getrlimit(RLIMIT_NOFILE, &limit);
  bool starts = pick(8) && limit.rlim_cur == 256;
  fflush(report); /* what the child says comes after it */
  int status =
      posix_spawn(&child, starts ? own[0] : "missing", &actions, &attributes, own, environ);
  int ended = 0;
  fprintf(report, " = %d", status);
  if (status == 0 && waitpid(child, &ended, 0) == child)
    fprintf(report, " ended=%x", (unsigned)ended);
  posix_spawn_file_actions_destroy(&actions);
  posix_spawnattr_destroy(&attributes);
}

static void create(void) {
  static char space[PATH_SPACE];
  unsigned call = pick(13);
  if (call == 12) {
    start();
    return;
  }
  if (call == 11) {
    make_temporary(space);
    return;
  }
  const char *path = any_path(space);
  int flags = any_flags();
  mode_t mode = any_mode();
  int dirfd = pick(3) ? AT_FDCWD : ANY(dirfds);
  const char *stream_mode = any_stream_mode();
  fprintf(report, "call=%u flags=%o mode=%o dirfd=%d %s", call, (unsigned)flags, mode, dirfd,
          stream_mode);
  FILE *stream = call == 8 ? fopen("/dev/null", "r") : NULL;
  errno = UNTOUCHED;
  switch (call) {
  case 0:
  case 1:
    tell_open(open(path, flags, mode));
    break;
  case 2:
    tell_open(open64(path, flags, mode));
    break;
  case 3:
  case 4:
    tell_open(openat(dirfd, path, flags, mode));
    break;
  case 5:
    tell_open(creat(path, mode));
    break;
  case 6:
  case 7:
    stream = fopen(path, stream_mode);
    tell_stream(stream);
    break;
  case 8:
    if (stream) {
      errno = UNTOUCHED;
      stream = freopen(path, stream_mode, stream);
      tell_stream(stream);
    }
    break;
  default: {
    static const mode_t types[] = {S_IFREG, 0, S_IFREG, S_IFDIR, S_IFSOCK, S_IFMT};
    mode_t node = (mode & 07777) | ANY(types);
    int made = call == 9 ? mknod(path, node, 0) : mknodat(dirfd, path, node, 0);
    int error = last_error();
    fprintf(report, " type=%o = %d errno=%d", node & S_IFMT, made, error);
  }
  }
}

static int remove_one(const char *path, const struct stat *stat, int type, struct FTW *walk) {
  (void)stat;
  (void)type;
  if (walk->level > 0 && remove(path) != 0)
    perror(path);
  return 0;
}

static int make_enterable(const char *path, const struct stat *stat, int type, struct FTW *walk) {
  (void)walk;
  if (type == FTW_D || type == FTW_DNR)
    chmod(path, stat->st_mode | 0700);
  return 0;
}

/* What the directory holds, in the order of the names. */
static void tell_directory(const char *path) {
  struct dirent **entries;
  int count = scandir(path, &entries, NULL, alphasort);
  for (int i = 0; i < count; i++) {
    char below[PATH_MAX];
    struct stat stat;
    const char *name = entries[i]->d_name;
    if (strcmp(name, ".") != 0 && strcmp(name, "..") != 0 &&
        snprintf(below, sizeof below, "%s/%s", path, name) < (int)sizeof below &&
        lstat(below, &stat) == 0) {
      fprintf(report, "holds %s %o %u %u %ld\n", below + strlen(top), stat.st_mode, stat.st_uid,
              stat.st_gid, S_ISDIR(stat.st_mode) ? 0 : (long)stat.st_size);
      if (S_ISDIR(stat.st_mode))
        tell_directory(below);
    }
    free(entries[i]);
  }
  if (count >= 0)
    free(entries);
}

static void set_limit(int resource, rlim_t value) {
  struct rlimit limit;
  getrlimit(resource, &limit);
  limit.rlim_cur = value < limit.rlim_max ? value : limit.rlim_max;
  setrlimit(resource, &limit);
}

/* Open something where no call of the sequence gets its descriptor. */
static int open_high(const char *path, int flags) {
  int fd = open(path, flags);
  int high = fcntl(fd, F_DUPFD, FIRST_FD);
  close(fd);
  return high;
}

/* The test is over, and its failure says why. */
static void give_up(const char *what) {
  dprintf(STDERR_FILENO, "cannot furnish %s: %s: %s\n", top, what, strerror(errno));
  exit(3);
}

/* Undo whatever the calls have left, and make what they are to meet. */
static void furnish(void) {
  static const char *const directories[] = {"directory", "handed-on", "read-only", "private"};
  static const char *const links[][2] = {{"nowhere", "dangling"},
                                         {"missing/far", "dangling-far"},
                                         {"existing", "to-existing"},
                                         {"directory", "to-directory"},
                                         {"loop", "loop"}};
  for (int fd = 0; fd < FIRST_FD; fd++)
    if (fd != STDERR_FILENO)
      close(fd);
  memset(kept, -1, sizeof kept);
  for (unsigned i = 0; i < 4; i++)
    close(dirfds[i]);
  umask(0);
  set_limit(RLIMIT_NOFILE, 256);
  set_limit(RLIMIT_FSIZE, RLIM_INFINITY);
  open("/dev/null", O_RDONLY);
  if (chdir(top) != 0)
    give_up("chdir");
  nftw(".", make_enterable, 16, FTW_PHYS);
  nftw(".", remove_one, 16, FTW_PHYS | FTW_DEPTH);
  for (unsigned i = 0; i < 4; i++)
    mkdir(directories[i], 0755);
  close(creat("existing", 0644));
  close(creat("unwritable", 0444));
  close(creat("read-only/existing", 0644));
  mkfifo("fifo", 0644);
  for (unsigned i = 0; i < sizeof links / sizeof *links; i++)
    if (symlink(links[i][0], links[i][1]) != 0)
      give_up(links[i][1]);
  if (geteuid() == 0 && chown("handed-on", (uid_t)-1, OTHER_GROUP) != 0)
    give_up("chown");
  chmod("handed-on", 02775);
  chmod("read-only", 0555);
  chmod("private", 0);
  dirfds[0] = open_high(".", O_RDONLY);
  dirfds[1] = open_high("directory", O_RDONLY);
  dirfds[2] = open_high("directory", O_PATH);
  dirfds[3] = open_high("existing", O_RDONLY);
  dirfds[4] = -1;
  dirfds[5] = 1000;
  umask(022);
}

static void tell_result(const char *call, int result) {
  int error = result == 0 ? 0 : last_error();
  fprintf(report, "%s = %d errno=%d\n", call, result, error);
}

static void set_descriptor_limit(void) {
  int lowest = dup(dirfds[0]);
  close(lowest);
  set_limit(RLIMIT_NOFILE, pick(4) == 0 && lowest > 0 ? (rlim_t)lowest + pick(5) : 256);
}

/* Change what the next calls meet. */
static void disturb(void) {
  static const mode_t masks[] = {022, 022, 0, 077, 027, 002, 07, 0777, 0200, 0400};
  const char *name = any_name();
  const char *other = any_name();
  switch (pick(14)) {
  case 0:
    umask(ANY(masks));
    break;
  case 1:
  case 2:
  case 3:
    for (unsigned i = 0; i < 5; i++)
      tell_result("unlink", unlink(any_name()));
    break;
  case 4:
    tell_result("rename", rename(name, other));
    break;
  case 5:
    close((int)pick(FIRST_FD));
    break;
  case 6:
    set_descriptor_limit();
    break;
  case 7:
    set_limit(RLIMIT_FSIZE, pick(4) == 0 ? 5 : RLIM_INFINITY);
    break;
  case 8:
    tell_result("chdir", chdir(pick(6) ? top : "directory"));
    break;
  case 9:
    tell_result("rmdir", rmdir(name));
    break;
  default:
    break;
  }
}

int main(int argc, char **argv) {
  if (argc == 1)
    return look();
  if (argc != 4 || !realpath(argv[3], top))
    return 2;
  if (!choose(strtoull(argv[1], NULL, 10), top))
    return 3;
  long count = strtol(argv[2], NULL, 10);
  memset(dirfds, -1, sizeof dirfds);
  signal(SIGXFSZ, SIG_IGN);
  report = fdopen(fcntl(STDOUT_FILENO, F_DUPFD, REPORT), "w");
  if (!report)
    return 3;
  for (long i = 0; i < count; i++) {
    if (i % ROUND == 0) {
      if (i > 0)
        tell_directory(top);
      furnish();
    }
    disturb();
    fprintf(report, "%ld ", i);
    create();
    fputc('\n', report);
    fflush(report);
  }
  tell_directory(top);
  return fclose(report) != 0;
}
