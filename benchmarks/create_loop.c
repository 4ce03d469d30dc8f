/*
 * create_loop CALL DIRECTORY COUNT CPU [BRANCH]: make one call COUNT times and
 * print how long each took, in nanoseconds, one a line.
 *
 *   open-existing    open() of a file that is there, for reading
 *   create-absolute  open(O_CREAT | O_EXCL) of a fresh name in DIRECTORY, by its absolute path
 *   create-relative  the same by its name alone, from within DIRECTORY
 *   create-by-hand   what a person does to put a file of a union on one branch: create it in
 *                    BRANCH, close it, open it in DIRECTORY, the same directory through the union
 *   create-staged    what an expert does, so that of several creators one wins, the name appears
 *                    with a whole file and the union knows its links: make it in BRANCH/.ses/UID,
 *                    link it through DIRECTORY, unlink the first name, open it, refresh it
 *   exec-true        start /bin/true and wait for it; LD_PRELOAD is what CHILD_LD_PRELOAD says
 *
 * Only the call is timed, not the close, the unlink or the clean-up.  The
 * first calls (WARM_UP) are not printed.  With BRANCH, the number of created
 * files that lay there is printed to standard error as "on-branch N".
 *
 * Runs pinned to CPU.  Does NOT know whether a library is preloaded: run it
 * once with and once without, and compare.
 */
#define _GNU_SOURCE
#include <fcntl.h>
#include <sched.h>
#include <spawn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#define WARM_UP 100
#define PATH_SIZE 4096

struct loop {
  const char *directory;
  const char *branch; /* NULL: not asked for */
  char path[PATH_SIZE];
  char branch_path[PATH_SIZE];
  char staged[PATH_SIZE];
  char staged_in_union[PATH_SIZE];
  char name[64];
  char **child_environment;
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

static void name_file(struct loop *loop, long number) {
  snprintf(loop->name, sizeof loop->name, "%d-%ld", (int)getpid(), number);
  snprintf(loop->path, PATH_SIZE, "%s/%s", loop->directory, loop->name);
  const char *branch = loop->branch ? loop->branch : "";
  int uid = (int)geteuid();
  snprintf(loop->branch_path, PATH_SIZE, "%s/%s", branch, loop->name);
  snprintf(loop->staged, PATH_SIZE, "%s/.ses/%d/%s", branch, uid, loop->name);
  snprintf(loop->staged_in_union, PATH_SIZE, "%s/.ses/%d/%s", loop->directory, uid, loop->name);
}

static int open_existing(struct loop *loop) { return open(loop->path, O_RDONLY); }

static int create_absolute(struct loop *loop) {
  return open(loop->path, O_CREAT | O_EXCL | O_WRONLY, 0644);
}

static int create_relative(struct loop *loop) {
  return open(loop->name, O_CREAT | O_EXCL | O_WRONLY, 0644);
}

static int create_by_hand(struct loop *loop) {
  int fd = open(loop->branch_path, O_CREAT | O_EXCL | O_WRONLY, 0644);
  if (fd < 0 || close(fd) != 0)
    return -1;
  return open(loop->path, O_WRONLY);
}

static int create_staged(struct loop *loop) {
  struct statx stat;
  if (mknod(loop->staged, S_IFREG | 0644, 0) != 0 || link(loop->staged_in_union, loop->path) != 0 ||
      unlink(loop->staged) != 0)
    return -1;
  int fd = open(loop->path, O_WRONLY);
  if (fd < 0 || statx(fd, "", AT_EMPTY_PATH | AT_STATX_FORCE_SYNC, STATX_BASIC_STATS, &stat) != 0)
    return -1;
  return fd;
}

static int exec_true(struct loop *loop) {
  char *arguments[] = {"true", NULL};
  pid_t child;
  int status;
  if (posix_spawn(&child, "/bin/true", NULL, NULL, arguments, loop->child_environment) != 0 ||
      waitpid(child, &status, 0) != child || status != 0)
    return -1;
  return STDIN_FILENO;
}

struct call {
  const char *name;
  int (*make)(struct loop *loop);
};

static const struct call calls[] = {
    {"open-existing", open_existing},     {"create-absolute", create_absolute},
    {"create-relative", create_relative}, {"create-by-hand", create_by_hand},
    {"create-staged", create_staged},     {"exec-true", exec_true},
};

static const struct call *find_call(const char *name) {
  for (size_t i = 0; i < sizeof calls / sizeof calls[0]; i++)
    if (strcmp(name, calls[i].name) == 0)
      return &calls[i];
  fprintf(stderr, "create_loop: no call %s\n", name);
  exit(2);
}

static void pin(int cpu) {
  cpu_set_t set;
  CPU_ZERO(&set);
  CPU_SET(cpu, &set);
  if (sched_setaffinity(0, sizeof set, &set) != 0)
    fail("sched_setaffinity");
}

/* The environment of children: this one's, with LD_PRELOAD from CHILD_LD_PRELOAD. */
static char **child_environment(void) {
  const char *library = getenv("CHILD_LD_PRELOAD");
  if (library && *library)
    setenv("LD_PRELOAD", library, 1);
  else
    unsetenv("LD_PRELOAD");
  return environ;
}

int main(int argc, char **argv) {
  if (argc != 5 && argc != 6) {
    fprintf(stderr, "usage: create_loop CALL DIRECTORY COUNT CPU [BRANCH]\n");
    return 2;
  }
  const struct call *call = find_call(argv[1]);
  struct loop loop = {.directory = argv[2], .branch = argc == 6 ? argv[5] : NULL};
  long count = strtol(argv[3], NULL, 10);
  int creates = call->make != open_existing && call->make != exec_true;
  long on_branch = 0;
  long long *spent = calloc((size_t)count, sizeof *spent);
  if (!spent || count < 1)
    fail("create_loop: COUNT");
  pin((int)strtol(argv[4], NULL, 10));
  if (chdir(loop.directory) != 0)
    fail(loop.directory);
  loop.child_environment = child_environment();
  if (call->make == open_existing) {
    name_file(&loop, 0);
    close(open(loop.path, O_CREAT | O_WRONLY, 0644));
  }

  for (long i = -WARM_UP; i < count; i++) {
    if (creates)
      name_file(&loop, i);
    long long start = now();
    int fd = call->make(&loop);
    long long end = now();
    if (fd < 0)
      fail(loop.path);
    if (i >= 0)
      spent[i] = end - start;
    if (call->make != exec_true)
      close(fd);
    if (!creates)
      continue;
    if (loop.branch && i >= 0 && access(loop.branch_path, F_OK) == 0)
      on_branch++;
    if (unlink(loop.path) != 0)
      fail(loop.path);
  }
  if (call->make == open_existing)
    unlink(loop.path);
  for (long i = 0; i < count; i++)
    printf("%lld\n", spent[i]);
  if (loop.branch)
    fprintf(stderr, "on-branch %ld\n", on_branch);
  return 0;
}
