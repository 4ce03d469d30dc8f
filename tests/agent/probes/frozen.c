/*
 * A FUSE file system that answers no write, and processes that wait for it.
 *
 *     frozen serve -f DIRECTORY     serves one file of a page
 *     frozen hold FILE              says two numbers: its own and that of a child that shares its
 *                                   memory, once the page waits, then the memory, then an execve()
 *
 * What reads the memory of the first then waits until the file system is killed, and on most
 * kernels what looks at /proc/PID/fd, stat or io of the second.
 */
#define _GNU_SOURCE
#define FUSE_USE_VERSION 31
#include <fcntl.h>
#include <fuse.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <time.h>
#include <unistd.h>

enum { PAGE = 4096 };

static int is_root(const char *path) { return strcmp(path, "/") == 0; }

static int get_attributes(const char *path, struct stat *status, struct fuse_file_info *info) {
  (void)info;
  memset(status, 0, sizeof *status);
  status->st_nlink = 1;
  status->st_mode = is_root(path) ? S_IFDIR | 0755 : S_IFREG | 0666;
  status->st_size = is_root(path) ? 0 : PAGE;
  return 0;
}

static int open_any(const char *path, struct fuse_file_info *info) {
  (void)path, (void)info;
  return 0;
}

static int read_zeros(const char *path, char *buffer, size_t size, off_t at,
                      struct fuse_file_info *info) {
  (void)path, (void)info;
  size_t left = at < PAGE ? (size_t)(PAGE - at) : 0;
  memset(buffer, 0, size < left ? size : left);
  return (int)(size < left ? size : left);
}

static __attribute__((noreturn)) int never_write(const char *path, const char *buffer, size_t size,
                                                 off_t at, struct fuse_file_info *info) {
  (void)path, (void)buffer, (void)size, (void)at, (void)info;
  for (;;)
    pause();
}

static const struct fuse_operations operations = {
    .getattr = get_attributes, .open = open_any, .read = read_zeros, .write = never_write};

static char *page;

static void wait_a_little(long milliseconds) {
  nanosleep(&(struct timespec){milliseconds / 1000, milliseconds % 1000 * 1000000}, NULL);
}

static void *touch(void *nothing) {
  page[1] = 1;
  return nothing;
}

static void *protect(void *nothing) {
  mprotect(page, PAGE, PROT_READ);
  return nothing;
}

static int execute(void *nothing) {
  (void)nothing;
  wait_a_little(600);
  char *arguments[] = {"/bin/sleep", "1000", NULL}, *environment[] = {NULL};
  execve(arguments[0], arguments, environment);
  return 1;
}

static int hold(const char *path) {
  static char stack[1 << 16];
  int file = open(path, O_RDWR);
  page = mmap(NULL, PAGE, PROT_READ | PROT_WRITE, MAP_SHARED, file, 0);
  if (page == MAP_FAILED)
    return 1;
  page[0] = 1;
  sync_file_range(file, 0, PAGE, SYNC_FILE_RANGE_WRITE);
  int child = clone(execute, stack + sizeof stack, CLONE_VM | SIGCHLD, NULL);
  pthread_t touches, protects;
  pthread_create(&touches, NULL, touch, NULL);
  wait_a_little(200);
  pthread_create(&protects, NULL, protect, NULL);
  char text[64];
  int length = snprintf(text, sizeof text, "%d %d\n", (int)getpid(), child);
  wait_a_little(1000);
  (void)!write(1, text, (size_t)length);
  for (;;)
    pause();
}

int main(int count, char **arguments) {
  if (count == 3 && strcmp(arguments[1], "hold") == 0)
    return hold(arguments[2]);
  return fuse_main(count - 1, arguments + 1, &operations, NULL);
}
