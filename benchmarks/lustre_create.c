/*
 * lustre_create DIRECTORY COUNT CPU: make COUNT times three files and print how
 * long each took: three numbers of nanoseconds a line.
 *
 *   0  with the library: open(O_CREAT | O_EXCL); what places the file is preloaded
 *   1  by hand, what puts a file on OST 2: open with the delay flag, then fsetxattr("lustre.lov")
 *      with a list of one; by direct system calls, which the library does not see
 *   2  by hand as 1, and fgetxattr() to see what was really set, as the library does
 *
 * In turn, so that whatever else the machine does meets all alike.  Only these
 * calls are timed, not close and unlink.  Runs pinned to CPU; the first rounds
 * (WARM_UP) are not printed.
 */
#define _GNU_SOURCE
#include <fcntl.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#define WARM_UP 50
#define WAYS 3

static const unsigned char on_ost_2[72] = {0xd0, 0x0b, 0xd5, 0x0b, [28] = 1, [30] = 2, [68] = 2};

static long long now(void) {
  struct timespec time;
  clock_gettime(CLOCK_MONOTONIC, &time);
  return time.tv_sec * 1000000000LL + time.tv_nsec;
}

static int make(const char *name, int way) {
  unsigned char layout[2048];
  int flags = O_CREAT | O_EXCL | O_WRONLY;
  if (way == 0)
    return open(name, flags, 0644);
  int fd = (int)syscall(SYS_openat, AT_FDCWD, name, flags | O_NOCTTY | FASYNC, 0644);
  if (fd >= 0 && syscall(SYS_fsetxattr, fd, "lustre.lov", on_ost_2, sizeof on_ost_2, 0) != 0)
    return -1;
  if (fd >= 0 && way == 2 && syscall(SYS_fgetxattr, fd, "lustre.lov", layout, sizeof layout) < 0)
    return -1;
  return fd;
}

static long long time_of(const char *directory, int number, int way) {
  char name[4096];
  snprintf(name, sizeof name, "%s/%d-%d-%d", directory, (int)getpid(), number, way);
  long long begun = now();
  int fd = make(name, way);
  long long took = now() - begun;
  if (fd < 0) {
    perror(name);
    exit(1);
  }
  close(fd);
  unlink(name);
  return took;
}

int main(int argc, char **argv) {
  cpu_set_t cpus;
  if (argc != 4)
    return 2;
  CPU_ZERO(&cpus);
  CPU_SET(atoi(argv[3]), &cpus);
  sched_setaffinity(0, sizeof cpus, &cpus);
  for (int i = -WARM_UP; i < atoi(argv[2]); i++) {
    long long took[WAYS];
    for (int turn = 0; turn < WAYS; turn++) {
      int way = (i + WARM_UP + turn) % WAYS;
      took[way] = time_of(argv[1], i, way);
    }
    if (i >= 0)
      printf("%lld %lld %lld\n", took[0], took[1], took[2]);
  }
  return 0;
}
