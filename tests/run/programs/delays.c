/*
 * Preloaded into ses-supervisor: the moment at which the watchdog takes a call from a slow worker,
 * held until the worker has the next call in the same place, and a file made for it.  Markers lie
 * in the folder DELAYS.
 */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <fcntl.h>
#include <linux/seccomp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/uio.h>
#include <unistd.h>

static _Thread_local bool was_slow;

static const char *path_of(const char *marker, char path[512]) {
  snprintf(path, 512, "%s/%s", getenv("DELAYS"), marker);
  return path;
}

static bool is_there(const char *marker) {
  char path[512];
  return access(path_of(marker, path), F_OK) == 0;
}

static bool make(const char *marker) {
  char path[512];
  int fd = open(path_of(marker, path), O_CREAT | O_EXCL | O_WRONLY, 0600);
  return fd >= 0 && close(fd) == 0;
}

static void wait_for(const char *marker) {
  for (int i = 0; i < 60000 && !is_there(marker); i++)
    usleep(1000);
}

static bool is_worker(void) {
  char words[64] = {0};
  int fd = open("/proc/self/cmdline", O_RDONLY);
  ssize_t length = read(fd, words, sizeof words - 1);
  close(fd);
  return length > 0 && strcmp(words + strlen(words) + 1, "worker") == 0;
}

ssize_t process_vm_readv(pid_t pid, const struct iovec *here, unsigned long heres,
                         const struct iovec *there, unsigned long theres, unsigned long flags) {
  ssize_t (*real)(pid_t, const struct iovec *, unsigned long, const struct iovec *, unsigned long,
                  unsigned long) = dlsym(RTLD_NEXT, "process_vm_readv");
  if (is_worker()) {
    if (make("slow")) {
      was_slow = true;
      wait_for("taken");
    }
  } else if (is_there("slow") && make("taken")) {
    wait_for("made");
  }
  return real(pid, here, heres, there, theres, flags);
}

int ioctl(int fd, unsigned long request, ...) {
  int (*real)(int, unsigned long, void *) = dlsym(RTLD_NEXT, "ioctl");
  va_list list;
  va_start(list, request);
  void *argument = va_arg(list, void *);
  va_end(list);
  if (request == SECCOMP_IOCTL_NOTIF_ADDFD && was_slow && is_there("taken") && make("made"))
    wait_for("answered");
  int result = real(fd, request, argument);
  if (request == SECCOMP_IOCTL_NOTIF_SEND && is_there("made") && !is_worker())
    make("answered");
  return result;
}
