/*
 * Creates at odd times of a process's life, and by processes made in odd ways.
 *
 *   life late DIR             nothing of its own; a destructor creates (see early.c)
 *   life storm DIR            THREADS threads that each fork CHILDREN children; all of them create
 *   life spawn DIR            a child of posix_spawn() that creates, and a file its actions open
 *   life clone DIR            a child of clone() on its parent's memory, and one on its own
 *   life alternate DIR        from a handler on an alternate stack of 8 KiB
 *   life cancel DIR           THREADS threads cancelled while they create; prints descriptors left
 *                             open
 *   life daemon DIR           closes every descriptor after each create; prints how many it got
 *                             wrong
 *   life chroot DIR           a file at /chroot-0 with DIR as the root
 *   life memory DIR           COUNT files with no address space left to allocate
 *   life heap DIR             COUNT files by paths between bytes that were never written
 *   life library DIR PATH     a file before and after dlopen() and dlclose() of PATH
 *   life COUNT DIR            so many files
 */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <spawn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#define THREADS 4
#define CHILDREN 10
#define COUNT 20
#define STACK 65536

extern void early_is_linked(void);

static const char *directory;

static int create(const char *name, int number) {
  char path[4096];
  snprintf(path, sizeof path, "%s/%s-%d", directory, name, number);
  return open(path, O_CREAT | O_EXCL | O_WRONLY, 0644);
}

/* 1: it failed. */
static int create_and_close(const char *name, int number) {
  int fd = create(name, number);
  return fd < 0 || close(fd) != 0;
}

static int ended_well(pid_t child) {
  int status = 1;
  return child > 0 && waitpid(child, &status, __WALL) == child && status == 0;
}

static void *fork_many(void *argument) {
  int first = *(int *)argument * CHILDREN;
  long failed = 0;
  for (int i = 0; i < CHILDREN; i++) {
    pid_t child = fork();
    if (child == 0)
      _exit(create_and_close("child", first + i));
    failed += create_and_close("thread", first + i);
    failed += !ended_well(child);
  }
  return (void *)failed;
}

static int storm(void) {
  pthread_t thread[THREADS];
  int numbers[THREADS];
  long failed = 0;
  for (int i = 0; i < THREADS; i++) {
    numbers[i] = i;
    failed += pthread_create(&thread[i], NULL, fork_many, &numbers[i]) != 0;
  }
  for (int i = 0; i < THREADS; i++) {
    void *result = NULL;
    pthread_join(thread[i], &result);
    failed += (long)result;
  }
  return failed != 0;
}

static int spawn(char *self) {
  char path[4096];
  snprintf(path, sizeof path, "%s/action-0", directory);
  posix_spawn_file_actions_t actions;
  posix_spawn_file_actions_init(&actions);
  posix_spawn_file_actions_addopen(&actions, 9, path, O_CREAT | O_WRONLY, 0644);
  char *arguments[] = {self, "1", (char *)directory, NULL};
  pid_t child = -1;
  if (posix_spawn(&child, self, &actions, NULL, arguments, environ) != 0)
    return 1;
  return !ended_well(child) || create_and_close("parent", 0);
}

static int in_clone(void *argument) { return create_and_close(argument, 0); }

static int cloned(void) {
  char *stack = malloc(STACK);
  pid_t sharing = clone(in_clone, stack + STACK, CLONE_VM | CLONE_VFORK | SIGCHLD, "sharing");
  int failed = !ended_well(sharing);
  pid_t own = clone(in_clone, stack + STACK, SIGCHLD, "own");
  return failed + !ended_well(own) + create_and_close("parent", 0);
}

static char handler_path[4096];

static void on_signal(int number) {
  (void)number;
  int saved = errno;
  close(open(handler_path, O_CREAT | O_EXCL | O_WRONLY, 0644));
  errno = saved;
}

static int alternate(void) {
  snprintf(handler_path, sizeof handler_path, "%s/handler-0", directory);
  /* Below it lies a page that cannot be touched: an overflow is a fault. */
  char *pages = mmap(NULL, 4096 + 8192, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  mprotect(pages + 4096, 8192, PROT_READ | PROT_WRITE);
  stack_t small = {.ss_size = 8192, .ss_sp = pages + 4096};
  struct sigaction action = {.sa_handler = on_signal, .sa_flags = SA_ONSTACK};
  if (sigaltstack(&small, NULL) != 0 || sigaction(SIGUSR1, &action, NULL) != 0)
    return 2;
  return raise(SIGUSR1);
}

static void *create_until_cancelled(void *argument) {
  for (int i = 0;; i++) {
    int state;
    int fd = create(argument, i);
    /* Closing is a cancellation point too: the test is about creating. */
    pthread_setcancelstate(PTHREAD_CANCEL_DISABLE, &state);
    close(fd);
    pthread_setcancelstate(state, &state);
  }
  return NULL;
}

static int open_descriptors(void) {
  int count = 0;
  for (int fd = 3; fd < 256; fd++)
    count += fcntl(fd, F_GETFD) >= 0;
  return count;
}

static int cancel(void) {
  static char *const names[THREADS] = {"one", "two", "three", "four"};
  pthread_t thread[THREADS];
  int before = open_descriptors();
  for (int i = 0; i < THREADS; i++)
    if (pthread_create(&thread[i], NULL, create_until_cancelled, names[i]) != 0)
      return 2;
  char path[4096];
  for (int i = 0; i < THREADS; i++) { /* each has created something */
    snprintf(path, sizeof path, "%s/%s-3", directory, names[i]);
    while (access(path, F_OK) != 0)
      sched_yield();
  }
  int failed = 0;
  for (int i = 0; i < THREADS; i++)
    pthread_cancel(thread[i]);
  for (int i = 0; i < THREADS; i++) {
    void *result = NULL;
    pthread_join(thread[i], &result);
    failed += result != PTHREAD_CANCELED;
  }
  printf("%d\n", open_descriptors() - before);
  return failed;
}

static int daemon_like(void) {
  int wrong = 0;
  for (int i = 0; i < COUNT; i++) {
    for (int fd = 3; fd < 256; fd++)
      close(fd);
    wrong += create("daemon", i) != 3 || open_descriptors() != 1;
  }
  printf("%d\n", wrong);
  return wrong != 0;
}

static int under_root(void) {
  if (chroot(directory) != 0 || chdir("/") != 0)
    return 2;
  directory = "";
  return create_and_close("chroot", 0);
}

static int without_memory(void) {
  struct rlimit none = {0, 0};
  create_and_close("first", 0);
  if (setrlimit(RLIMIT_AS, &none) != 0)
    return 2;
  int failed = 0;
  for (int i = 0; i < COUNT; i++)
    failed += create_and_close("memory", i);
  return failed;
}

static int on_the_heap(void) {
  int failed = 0;
  for (int i = 0; i < COUNT; i++) {
    size_t length = strlen(directory) + sizeof "/heap-00-XXXXXX";
    char *path = malloc(length + 8);
    if (!path)
      return 1;
    char *start = path + i % 8;
    snprintf(start, length, "%s/heap-%02d-XXXXXX", directory, i);
    failed += close(mkstemp(start)) != 0;
    free(path);
  }
  return failed;
}

static int around_library(const char *path) {
  int failed = create_and_close("before", 0);
  for (int i = 0; i < 3; i++) {
    void *library = dlopen(path, RTLD_NOW);
    failed += !library || create_and_close("during", i) || dlclose(library) != 0;
  }
  return failed + create_and_close("after", 0);
}

int main(int argc, char **argv) {
  if (argc < 3)
    return 2;
  early_is_linked();
  const char *what = argv[1];
  directory = argv[2];
  if (!strcmp(what, "storm"))
    return storm();
  if (!strcmp(what, "spawn"))
    return spawn(argv[0]);
  if (!strcmp(what, "clone"))
    return cloned();
  if (!strcmp(what, "alternate"))
    return alternate();
  if (!strcmp(what, "cancel"))
    return cancel();
  if (!strcmp(what, "daemon"))
    return daemon_like();
  if (!strcmp(what, "chroot"))
    return under_root();
  if (!strcmp(what, "memory"))
    return without_memory();
  if (!strcmp(what, "heap"))
    return on_the_heap();
  if (!strcmp(what, "library") && argc == 4)
    return around_library(argv[3]);
  int failed = 0;
  for (int i = 0; i < atoi(what); i++)
    failed += create_and_close("life", i);
  return failed;
}
