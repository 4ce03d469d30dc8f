/*
 * Preloaded into ses-supervisor: the first standby is held before it begins, until it is let go.
 * Each standby says when it watches; those that were not held may be slow to see what happens.
 * Markers lie in the folder STANDBYS.
 */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <fcntl.h>
#include <poll.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static bool was_held;

static const char *path_of(const char *marker, char path[512]) {
  snprintf(path, 512, "%s/%s", getenv("STANDBYS"), marker);
  return path;
}

static bool make(const char *marker) {
  char path[512];
  int fd = open(path_of(marker, path), O_CREAT | O_EXCL | O_WRONLY, 0600);
  return fd >= 0 && close(fd) == 0;
}

static bool is_there(const char *marker) {
  char path[512];
  return access(path_of(marker, path), F_OK) == 0;
}

static void wait_for(const char *marker) {
  for (int i = 0; i < 60000 && !is_there(marker); i++)
    usleep(1000);
}

static bool is_standby(void) {
  char words[64] = {0};
  int fd = open("/proc/self/cmdline", O_RDONLY);
  ssize_t length = read(fd, words, sizeof words - 1);
  close(fd);
  return length > 0 && strcmp(words, "ses-standby") == 0;
}

__attribute__((constructor)) static void hold_the_first(void) {
  was_held = is_standby() && make("held");
  if (was_held)
    wait_for("let-go");
}

int poll(struct pollfd *watched, nfds_t count, int patience) {
  int (*real)(struct pollfd *, nfds_t, int) = dlsym(RTLD_NEXT, "poll");
  bool watches = patience < 0 && is_standby();
  char marker[32];
  snprintf(marker, sizeof marker, "watches-%d", getpid());
  if (watches)
    make(marker);
  int result = real(watched, count, patience);
  if (watches && !was_held && is_there("slow"))
    wait_for("awake");
  return result;
}
