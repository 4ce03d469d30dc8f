/*
 * create_loop CALL[,CALL...] DIRECTORY COUNT CPU [BRANCH]: make one call, or up to three
 * in turn, COUNT times each, and print how long each took, in nanoseconds: a line
 * for each turn.
 *
 *   open-existing    open() of a file that is there, for reading
 *   create-absolute  open(O_CREAT | O_EXCL) of a fresh name in DIRECTORY, by its absolute path
 *   create-relative  the same by its name alone, from within DIRECTORY
 *   create-by-hand   what a person does to put a file of a union on one branch: create it in
 *                    BRANCH, close it, open it in DIRECTORY, the same directory through the union
 *   create-staged    what an expert does, so that of several creators one wins, the name appears
 *                    with a whole file and the union knows its links: make it in BRANCH/.ses/UID,
 *                    link it through DIRECTORY, unlink the first name, open it, refresh it
 *   create-careful   the same for any directory and any moment: with the group a directory hands
 *                    on, no name without a descriptor for it, and nobody else's file for one's own
 *   create-lustre    by hand, what puts a file of Lustre on OST 2: open with the delay flag, then
 *                    fsetxattr("lustre.lov") with a list of one; both past the library
 *   create-lustre-look  the same, and fgetxattr() to see what was really set, as the library does
 *   exec-true        start /bin/true and wait for it; LD_PRELOAD is what CHILD_LD_PRELOAD says
 *   storm            create STORM_FILES files in DIRECTORY by their absolute paths, look at each,
 *                    open and close each, remove them: what programs that measure metadata do
 *
 * With "plain-" before it a call goes to the C library past whatever is
 * preloaded, so that one process can make it with and without, in turn, and
 * what slows the machine for a while slows both; plain-exec-true starts
 * /bin/true without LD_PRELOAD.
 *
 * Only the call is timed, not the close, the unlink or the clean-up.  The
 * first calls (WARM_UP) are not printed.  With BRANCH, the number of files
 * created by the first CALL that lay there is printed to standard error as
 * "on-branch N".
 *
 * Runs pinned to CPU.
 */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <fcntl.h>
#include <sched.h>
#include <spawn.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#define WARM_UP 100
#define PATH_SIZE 4096
#define WAYS 3
#define STORM_FILES 10

typedef int (*open_function)(const char *path, int flags, ...);

struct loop {
  const char *directory;
  const char *branch; /* NULL: not asked for */
  char path[PATH_SIZE];
  char branch_path[PATH_SIZE];
  char staged[PATH_SIZE];
  char staged_in_union[PATH_SIZE];
  char name[64];
  char storm_file[PATH_SIZE + 16];
  char existing[PATH_SIZE];
};

/* A way to make a call: through whatever is preloaded, or past it. */
struct way {
  const struct call *call;
  open_function open;
  char **environment; /* of children */
  long long *spent;
};

struct call {
  const char *name;
  int (*make)(struct loop *loop, const struct way *way);
  int leaves_file;
  int leaves_descriptor;
};

static void fail(const char *what) {
  perror(what);
  exit(1);
}

static long long now(void) {
  struct timespec time;
  clock_gettime(CLOCK_MONOTONIC, &time);
  return time.tv_sec * 1000000000LL + time.tv_nsec;
}

static void name_file(struct loop *loop, long number, int way) {
  snprintf(loop->name, sizeof loop->name, "%d-%ld-%d", (int)getpid(), number, way);
  snprintf(loop->path, PATH_SIZE, "%s/%s", loop->directory, loop->name);
  const char *branch = loop->branch ? loop->branch : "";
  int uid = (int)geteuid();
  snprintf(loop->branch_path, PATH_SIZE, "%s/%s", branch, loop->name);
  snprintf(loop->staged, PATH_SIZE, "%s/.ses/%d/%s", branch, uid, loop->name);
  snprintf(loop->staged_in_union, PATH_SIZE, "%s/.ses/%d/%s", loop->directory, uid, loop->name);
}

static int open_existing(struct loop *loop, const struct way *way) {
  return way->open(loop->existing, O_RDONLY);
}

static int create_absolute(struct loop *loop, const struct way *way) {
  return way->open(loop->path, O_CREAT | O_EXCL | O_WRONLY, 0644);
}

static int create_relative(struct loop *loop, const struct way *way) {
  return way->open(loop->name, O_CREAT | O_EXCL | O_WRONLY, 0644);
}

static int create_by_hand(struct loop *loop, const struct way *way) {
  int fd = way->open(loop->branch_path, O_CREAT | O_EXCL | O_WRONLY, 0644);
  if (fd < 0 || close(fd) != 0)
    return -1;
  return way->open(loop->path, O_WRONLY);
}

static int create_staged(struct loop *loop, const struct way *way) {
  struct statx stat;
  /* Not mknod(), which may be the preloaded one. */
  if (syscall(SYS_mknodat, AT_FDCWD, loop->staged, S_IFREG | 0644, 0) != 0 ||
      link(loop->staged_in_union, loop->path) != 0 || unlink(loop->staged) != 0)
    return -1;
  int fd = way->open(loop->path, O_WRONLY);
  if (fd < 0 || statx(fd, "", AT_EMPTY_PATH | AT_STATX_FORCE_SYNC, STATX_BASIC_STATS, &stat) != 0)
    return -1;
  return fd;
}

/* The group that files in DIRECTORY get, unless it is the creator's own: -1. */
static gid_t group_handed_on(const char *directory) {
  struct statx stat;
  if (statx(AT_FDCWD, directory, AT_STATX_DONT_SYNC, STATX_TYPE | STATX_MODE | STATX_GID, &stat) !=
      0)
    return (gid_t)-1;
  return stat.stx_mode & S_ISGID ? stat.stx_gid : (gid_t)-1;
}

static int make_staged(const struct loop *loop, const struct way *way) {
  struct statx stat;
  gid_t wanted = group_handed_on(loop->directory);
  int fd = way->open(loop->staged, O_RDONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0644);
  if (fd < 0 || statx(fd, "", AT_EMPTY_PATH, STATX_BASIC_STATS, &stat) != 0)
    return -1;
  if (wanted == (gid_t)-1)
    wanted = getegid();
  if (stat.stx_gid != wanted && fchown(fd, (uid_t)-1, wanted) != 0)
    return -1;
  return close(fd);
}

static int create_careful(struct loop *loop, const struct way *way) {
  struct statx stat;
  if (make_staged(loop, way) != 0 || link(loop->staged_in_union, loop->path) != 0)
    return -1;
  int fd = way->open(loop->path, O_WRONLY);
  if (fd < 0 || statx(fd, "", AT_EMPTY_PATH | AT_STATX_DONT_SYNC, STATX_BASIC_STATS, &stat) != 0 ||
      stat.stx_nlink != 2 || unlink(loop->staged) != 0)
    return -1;
  uint64_t inode = stat.stx_ino;
  if (statx(fd, "", AT_EMPTY_PATH | AT_STATX_FORCE_SYNC, STATX_BASIC_STATS, &stat) != 0 ||
      stat.stx_ino != inode)
    return -1;
  return fd;
}

static int create_lustre(struct loop *loop, const struct way *way) {
  static const unsigned char on_ost_2[72] = {0xd0, 0x0b, 0xd5, 0x0b, [28] = 1, [30] = 2, [68] = 2};
  int flags = O_CREAT | O_EXCL | O_WRONLY | O_NOCTTY | FASYNC;
  (void)way;
  int fd = (int)syscall(SYS_openat, AT_FDCWD, loop->path, flags, 0644);
  if (fd >= 0 && syscall(SYS_fsetxattr, fd, "lustre.lov", on_ost_2, sizeof on_ost_2, 0) != 0)
    return -1;
  return fd;
}

static int create_lustre_look(struct loop *loop, const struct way *way) {
  unsigned char layout[2048];
  int fd = create_lustre(loop, way);
  if (fd >= 0 && syscall(SYS_fgetxattr, fd, "lustre.lov", layout, sizeof layout) < 0)
    return -1;
  return fd;
}

static int exec_true(struct loop *loop, const struct way *way) {
  char *arguments[] = {"true", NULL};
  pid_t child;
  int status;
  (void)loop;
  if (posix_spawn(&child, "/bin/true", NULL, NULL, arguments, way->environment) != 0 ||
      waitpid(child, &status, 0) != child || status != 0)
    return -1;
  return 0;
}

static void name_storm_file(struct loop *loop, int number) {
  snprintf(loop->storm_file, sizeof loop->storm_file, "%s-%d", loop->path, number);
}

static int storm(struct loop *loop, const struct way *way) {
  struct stat stat_;
  for (int i = 0; i < STORM_FILES; i++) {
    name_storm_file(loop, i);
    if (close(way->open(loop->storm_file, O_CREAT | O_WRONLY, 0644)) != 0)
      return -1;
  }
  for (int i = 0; i < STORM_FILES; i++) {
    name_storm_file(loop, i);
    if (stat(loop->storm_file, &stat_) != 0)
      return -1;
  }
  for (int i = 0; i < STORM_FILES; i++) {
    name_storm_file(loop, i);
    if (close(way->open(loop->storm_file, O_RDONLY)) != 0)
      return -1;
  }
  for (int i = 0; i < STORM_FILES; i++) {
    name_storm_file(loop, i);
    if (unlink(loop->storm_file) != 0)
      return -1;
  }
  return 0;
}

static const struct call calls[] = {
    {"open-existing", open_existing, 0, 1},
    {"create-absolute", create_absolute, 1, 1},
    {"create-relative", create_relative, 1, 1},
    {"create-by-hand", create_by_hand, 1, 1},
    {"create-staged", create_staged, 1, 1},
    {"create-careful", create_careful, 1, 1},
    {"create-lustre", create_lustre, 1, 1},
    {"create-lustre-look", create_lustre_look, 1, 1},
    {"exec-true", exec_true, 0, 0},
    {"storm", storm, 0, 0},
};

/* The environment without LD_PRELOAD, or with it as CHILD_LD_PRELOAD says. */
static char **environment_with(const char *library) {
  size_t count = 0;
  for (; environ[count]; count++)
    ;
  char **copy = calloc(count + 2, sizeof *copy);
  if (!copy || (library && asprintf(&copy[0], "LD_PRELOAD=%s", library) < 0))
    fail("create_loop: environment");
  char **next = copy + (library ? 1 : 0);
  for (size_t i = 0; i < count; i++)
    if (strncmp(environ[i], "LD_PRELOAD=", 11) != 0)
      *next++ = environ[i];
  return copy;
}

static struct way find_way(const char *name, long count) {
  static const char plain[] = "plain-";
  struct way way = {.spent = calloc((size_t)count, sizeof(long long))};
  int is_plain = strncmp(name, plain, sizeof plain - 1) == 0;
  name += is_plain ? sizeof plain - 1 : 0;
  for (size_t i = 0; i < sizeof calls / sizeof calls[0]; i++)
    if (strcmp(name, calls[i].name) == 0)
      way.call = &calls[i];
  void *library = is_plain ? dlopen("libc.so.6", RTLD_LAZY) : RTLD_DEFAULT;
  *(void **)&way.open = dlsym(library, "open");
  way.environment = environment_with(is_plain ? NULL : getenv("CHILD_LD_PRELOAD"));
  if (!way.call || !way.open || !way.spent) {
    fprintf(stderr, "create_loop: no call %s\n", name);
    exit(2);
  }
  return way;
}

static void pin(int cpu) {
  cpu_set_t set;
  CPU_ZERO(&set);
  CPU_SET(cpu, &set);
  if (sched_setaffinity(0, sizeof set, &set) != 0)
    fail("sched_setaffinity");
}

static long long time_of(struct loop *loop, const struct way *way) {
  long long start = now();
  int result = way->call->make(loop, way);
  long long end = now();
  if (result < 0)
    fail(loop->path);
  if (way->call->leaves_descriptor)
    close(result);
  return end - start;
}

/* Make calls -WARM_UP to COUNT of each way in turn, each time another way first; how many files of
 * the first lay on the branch. */
static long make_all(struct loop *loop, struct way *ways, int way_count, long count) {
  long on_branch = 0;
  for (long i = -WARM_UP; i < count; i++)
    for (int turn = 0; turn < way_count; turn++) {
      int number = (int)((i + WARM_UP + turn) % way_count);
      const struct way *way = &ways[number];
      name_file(loop, i, number);
      long long spent = time_of(loop, way);
      if (i >= 0)
        way->spent[i] = spent;
      if (!way->call->leaves_file)
        continue;
      if (loop->branch && i >= 0 && number == 0 && access(loop->branch_path, F_OK) == 0)
        on_branch++;
      if (unlink(loop->path) != 0)
        fail(loop->path);
    }
  return on_branch;
}

int main(int argc, char **argv) {
  if (argc != 5 && argc != 6) {
    fprintf(stderr, "usage: create_loop CALL[,CALL...] DIRECTORY COUNT CPU [BRANCH]\n");
    return 2;
  }
  struct loop loop = {.directory = argv[2], .branch = argc == 6 ? argv[5] : NULL};
  long count = strtol(argv[3], NULL, 10);
  struct way ways[WAYS];
  int way_count = 0;
  if (count < 1)
    fail("create_loop: COUNT");
  for (char *name = strtok(argv[1], ","); name && way_count < WAYS; name = strtok(NULL, ","))
    ways[way_count++] = find_way(name, count);
  pin((int)strtol(argv[4], NULL, 10));
  if (chdir(loop.directory) != 0)
    fail(loop.directory);
  snprintf(loop.existing, PATH_SIZE, "%s/%d-existing", loop.directory, (int)getpid());
  close(open(loop.existing, O_CREAT | O_WRONLY, 0644));
  long on_branch = make_all(&loop, ways, way_count, count);
  unlink(loop.existing);
  for (long i = 0; i < count; i++)
    for (int number = 0; number < way_count; number++)
      printf("%lld%c", ways[number].spent[i], number + 1 < way_count ? ' ' : '\n');
  if (loop.branch)
    fprintf(stderr, "on-branch %ld\n", on_branch);
  return 0;
}
