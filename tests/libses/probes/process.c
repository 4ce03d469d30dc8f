/*
 * Creates in unusual circumstances.
 *
 *   process many COUNT DIR          COUNT files, one after another
 *   process threads COUNT DIR       COUNT files, one per thread with the smallest stack
 *   process race COUNT TRIES DIR    COUNT processes try to create DIR/race-N with O_EXCL, N <
 * TRIES; prints the winners of each process fork DIR                a file in the child of fork()
 *   process vfork DIR               a file in the child of vfork(), then one in the parent
 *   process forks DIR               a file in the parent, in a child of vfork(), in a child of
 *                                   fork(), and in the parent again
 *   process signal NUMBER DIR       files from a handler of the signal, on a small stack, during
 *                                   creates; prints how many
 *   process interrupted DIR         one file, with a handler of SIGTERM that creates another
 *   process jump COUNT DIR          COUNT creates, each left by a handler that jumps out of it;
 *                                   prints the sockets that are open afterwards
 *   process seccomp DIR             a file under a filter that kills for sockets and shared memory
 *   process descriptors DIR         a file with only one free descriptor
 *   process closed DIR              a file with descriptors 0-2 closed; prints its number
 *   process memory DIR              fopen() without memory left; prints its errno
 *   process early DIR               nothing of its own (see early.c)
 */
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <pthread.h>
#include <setjmp.h>
#include <signal.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/time.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

extern void early_is_linked(void);

static const char *directory;

static int create(const char *name, int number, int flags) {
  char path[4096];
  snprintf(path, sizeof path, "%s/%s-%d", directory, name, number);
  return open(path, O_CREAT | O_WRONLY | flags, 0644);
}

static int create_and_close(const char *name, int number, int flags) {
  int fd = create(name, number, flags);
  if (fd >= 0)
    close(fd);
  return fd < 0;
}

static int many(int count) {
  int failed = 0;
  for (int i = 0; i < count; i++)
    failed += create_and_close("many", i, O_EXCL);
  return failed;
}

static void *in_thread(void *argument) {
  /* No buffer of this function's own: the stack is as small as it can be. */
  return (void *)(long)close(open(argument, O_CREAT | O_EXCL | O_WRONLY, 0644));
}

static int threads(int count) {
  pthread_t *thread = calloc((size_t)count, sizeof *thread);
  char(*paths)[512] = calloc((size_t)count, sizeof *paths);
  pthread_attr_t attributes;
  pthread_attr_init(&attributes);
  pthread_attr_setstacksize(&attributes, (size_t)sysconf(_SC_THREAD_STACK_MIN));
  int failed = 0;
  for (int i = 0; i < count; i++) {
    snprintf(paths[i], sizeof paths[i], "%s/thread-%d", directory, i);
    if (pthread_create(&thread[i], &attributes, in_thread, paths[i]) != 0)
      return 2;
  }
  for (int i = 0; i < count; i++) {
    void *result = NULL;
    pthread_join(thread[i], &result);
    failed += result != NULL;
  }
  return failed;
}

static int race(int count, int tries) {
  int gate[2];
  if (pipe(gate) != 0)
    return 2;
  for (int i = 0; i < count; i++) {
    if (fork() != 0)
      continue;
    char byte;
    close(gate[1]);
    ssize_t ended = read(gate[0], &byte, 1); /* all start when the last writer closes */
    for (int n = 0; n < tries; n++) {
      int fd = create("race", n, O_EXCL);
      char line[64];
      int length = snprintf(line, sizeof line, "%d %d %d\n", n, getpid(), fd < 0 ? errno : 0);
      if (write(STDOUT_FILENO, line, (size_t)length) != length)
        _exit(2);
      if (fd >= 0)
        close(fd);
    }
    _exit(ended < 0);
  }
  close(gate[0]);
  close(gate[1]);
  int failed = 0;
  int status;
  while (wait(&status) > 0)
    failed += status != 0;
  return failed;
}

static int forked(void) {
  pid_t child = fork();
  if (child == 0)
    _exit(create_and_close("fork", 0, O_EXCL));
  int status = 1;
  waitpid(child, &status, 0);
  return status != 0;
}

static int vforked(void) {
  pid_t child = vfork();
  if (child == 0)
    _exit(create_and_close("vfork-child", 0, O_EXCL));
  int status = 1;
  waitpid(child, &status, 0);
  return (status != 0) + create_and_close("vfork-parent", 0, O_EXCL);
}

static int forks(void) {
  int failed = create_and_close("first", 0, O_EXCL);
  failed += vforked();
  return failed + forked() + create_and_close("last", 0, O_EXCL);
}

static volatile sig_atomic_t handled;
static timer_t timer;

/* Once, some time after now: a period could be shorter than the handler. */
static void set_timer(void) {
  struct itimerspec soon = {.it_value = {0, 400000}};
  timer_settime(timer, 0, &soon, NULL);
}

static void on_signal(int signal) {
  (void)signal;
  int saved = errno;
  create_and_close("handler", handled, O_EXCL);
  handled++;
  set_timer();
  errno = saved;
}

static int signalled(int number) {
  stack_t small = {.ss_size = 16384, .ss_sp = malloc(16384)};
  sigaltstack(&small, NULL);
  struct sigaction action = {.sa_handler = on_signal, .sa_flags = SA_ONSTACK | SA_RESTART};
  sigaction(number, &action, NULL);
  struct sigevent event = {.sigev_notify = SIGEV_SIGNAL, .sigev_signo = number};
  if (timer_create(CLOCK_MONOTONIC, &event, &timer) != 0)
    return 2;
  set_timer();
  int failed = 0;
  for (int i = 0; i < 2000 && (i < 200 || handled < 20); i++)
    failed += create_and_close("signal", i, O_EXCL);
  timer_delete(timer);
  printf("%d\n", (int)handled);
  return failed + (handled < 20);
}

static int interrupted(void) {
  struct sigaction action = {.sa_handler = on_signal, .sa_flags = SA_RESTART};
  sigaction(SIGTERM, &action, NULL);
  return create_and_close("interrupted", 0, O_EXCL);
}

static sigjmp_buf out;

static void jump_out(int signal) { siglongjmp(out, signal); }

static int jump(int count) {
  struct sigaction action = {.sa_handler = jump_out};
  sigaction(SIGALRM, &action, NULL);
  for (volatile int i = 0; i < count; i++) {
    struct itimerval soon = {.it_value = {0, 100 + i % 20 * 50}};
    if (sigsetjmp(out, 1) == 0) {
      setitimer(ITIMER_REAL, &soon, NULL);
      for (int n = 0;; n++)
        create("jump", i * 1000 + n, O_EXCL);
    }
  }
  int sockets = 0;
  struct stat stat;
  for (int fd = 3; fd < 1024; fd++)
    sockets += fstat(fd, &stat) == 0 && S_ISSOCK(stat.st_mode);
  printf("%d\n", sockets);
  return 0;
}

static jmp_buf far;

static void leave(int signal) { longjmp(far, signal); }

/* Ends the create of the first thread when that waits: it has SIGALRM blocked then, and not SIGINT.
 */
static void *interrupt(void *thread) {
  char path[64], line[128];
  unsigned long long blocked = 0;
  snprintf(path, sizeof path, "/proc/self/task/%d/status", (int)getpid());
  while (!(blocked >> (SIGALRM - 1) & 1) || blocked >> (SIGINT - 1) & 1) {
    FILE *status = fopen(path, "r");
    while (status && fgets(line, sizeof line, status) &&
           sscanf(line, "SigBlk: %llx", &blocked) != 1)
      ;
    if (status)
      fclose(status);
    usleep(1000);
  }
  pthread_kill(*(pthread_t *)thread, SIGINT);
  return NULL;
}

/* Is a signal blocked that a create holds off, after one that was left so, and after the next? */
static int leave_by_longjmp(void) {
  struct sigaction action = {.sa_handler = leave, .sa_flags = SA_NODEFER};
  pthread_t self = pthread_self(), other;
  sigset_t own, mask;
  sigemptyset(&own);
  sigaddset(&own, SIGUSR2);
  sigprocmask(SIG_BLOCK, &own, NULL);
  sigaction(SIGINT, &action, NULL);
  if (setjmp(far) == 0) {
    if (pthread_create(&other, NULL, interrupt, &self) != 0)
      return 2;
    create("left", 0, O_EXCL);
    return 3;
  }
  sigprocmask(SIG_BLOCK, NULL, &mask);
  printf("%d", sigismember(&mask, SIGALRM));
  create("next", 0, O_EXCL);
  sigprocmask(SIG_BLOCK, NULL, &mask);
  printf(" %d %d\n", sigismember(&mask, SIGALRM), sigismember(&mask, SIGUSR2));
  return 0;
}

static int filtered(void) {
  /* A jump leads to the verdict at the end, by so many instructions. */
  struct sock_filter program[] = {
      BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr)),
      BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_socket, 5, 0),
      BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_connect, 4, 0),
      BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_shmget, 3, 0),
      BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_shmat, 2, 0),
      BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_shmctl, 1, 0),
      BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
      BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_KILL_PROCESS),
  };
  struct sock_fprog filter = {.len = sizeof program / sizeof program[0], .filter = program};
  if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) != 0 ||
      prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &filter) != 0)
    return 2;
  return create_and_close("seccomp", 0, O_EXCL);
}

static int few_descriptors(void) {
  int lowest = dup(0);
  close(lowest);
  struct rlimit limit = {(rlim_t)lowest + 1, (rlim_t)lowest + 1};
  setrlimit(RLIMIT_NOFILE, &limit);
  int fd = create("descriptors", 0, O_EXCL);
  return fd != lowest;
}

static int closed(void) {
  int output = fcntl(STDOUT_FILENO, F_DUPFD, 20);
  for (int fd = 0; fd < 3; fd++)
    close(fd);
  int fd = create("closed", 0, O_EXCL);
  dprintf(output, "%d\n", fd);
  return fd != 0;
}

static int memory(void) {
  char path[4096];
  const struct rlimit none = {0, RLIM_INFINITY};
  snprintf(path, sizeof path, "%s/no-memory", directory);
  setrlimit(RLIMIT_AS, &none);
  for (size_t size = 1 << 20; size >= 16; size = size > 1024 ? size / 2 : size - 16)
    while (malloc(size)) {
    }
  errno = 0;
  FILE *stream = fopen(path, "w");
  dprintf(STDOUT_FILENO, "%d %d\n", stream != NULL, errno);
  return 0;
}

int main(int argc, char **argv) {
  if (argc < 3)
    return 2;
  early_is_linked();
  directory = argv[argc - 1];
  int first = atoi(argv[2]);
  if (!strcmp(argv[1], "many"))
    return many(first);
  if (!strcmp(argv[1], "threads"))
    return threads(first);
  if (!strcmp(argv[1], "race") && argc == 5)
    return race(first, atoi(argv[3]));
  if (!strcmp(argv[1], "fork"))
    return forked();
  if (!strcmp(argv[1], "vfork"))
    return vforked();
  if (!strcmp(argv[1], "forks"))
    return forks();
  if (!strcmp(argv[1], "signal"))
    return signalled(first);
  if (!strcmp(argv[1], "interrupted"))
    return interrupted();
  if (!strcmp(argv[1], "longjmp"))
    return leave_by_longjmp();
  if (!strcmp(argv[1], "jump"))
    return jump(first);
  if (!strcmp(argv[1], "seccomp"))
    return filtered();
  if (!strcmp(argv[1], "descriptors"))
    return few_descriptors();
  if (!strcmp(argv[1], "closed"))
    return closed();
  if (!strcmp(argv[1], "memory"))
    return memory();
  return strcmp(argv[1], "early") != 0;
}
