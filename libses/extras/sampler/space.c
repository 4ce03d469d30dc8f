#include "space.h"

#include "system/clock.h"

#include <errno.h>
#include <limits.h>
#include <pthread.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/statvfs.h>

#define EVERY_MS 1000u
#define OLDEST_NS 10000000000ull
#define STACK (64u << 10)

static struct space {
  const char *path;
  _Atomic uint64_t seen_ns; /* 0: never, or it is not to be had */
  _Atomic uint64_t size_bytes, free_bytes, read_only;
} spaces[SMED_TABLE_MAX];

/* 0, or an error number. */
static int look(struct space *space) {
  char above[PATH_MAX];
  struct stat own, parent;
  struct statvfs facts;

  snprintf(above, sizeof(above), "%s/..", space->path);
  if (stat(space->path, &own) != 0 || stat(above, &parent) != 0 ||
      statvfs(space->path, &facts) != 0)
    return errno;
  if (own.st_dev == parent.st_dev && own.st_ino != parent.st_ino)
    return ENODEV; /* nothing is mounted there */
  space->size_bytes = (uint64_t)facts.f_blocks * facts.f_frsize;
  space->free_bytes = (uint64_t)facts.f_bavail * facts.f_frsize;
  space->read_only = (facts.f_flag & ST_RDONLY) != 0;
  return 0;
}

static void *watch(void *argument) {
  struct space *space = argument;
  int said = 0;

  for (;; ses_sleep_until(ses_in_ms(EVERY_MS))) {
    int failed = look(space);
    if (failed != 0 && failed != said)
      fprintf(stderr, "smed-sampler: the space of %s is not known: %s\n", space->path,
              failed == ENODEV ? "nothing is mounted there" : strerror(failed));
    said = failed;
    space->seen_ns = failed != 0 ? 0 : ses_now_ns();
  }
  return NULL;
}

void smed_space_at(uint32_t number, const char *path) { spaces[number].path = path; }

bool smed_space_start(uint32_t count) {
  pthread_t thread;
  pthread_attr_t attributes;

  pthread_attr_init(&attributes);
  pthread_attr_setdetachstate(&attributes, PTHREAD_CREATE_DETACHED);
  pthread_attr_setstacksize(&attributes, STACK);
  errno = 0;
  for (uint32_t i = 0; i < count && errno == 0; i++)
    if (spaces[i].path != NULL)
      errno = pthread_create(&thread, &attributes, watch, &spaces[i]);
  if (errno != 0)
    perror("smed-sampler: a thread");
  return errno == 0;
}

void smed_space_of(uint32_t number, uint64_t now_ns, struct smed_sample *sample) {
  const struct space *space = &spaces[number];

  if (space->path == NULL)
    return;
  uint64_t seen_ns = atomic_load_explicit(&space->seen_ns, memory_order_acquire);
  if (seen_ns == 0 || seen_ns + OLDEST_NS < now_ns)
    return;
  sample->size_bytes = atomic_load_explicit(&space->size_bytes, memory_order_relaxed);
  sample->free_bytes = atomic_load_explicit(&space->free_bytes, memory_order_relaxed);
  sample->read_only = atomic_load_explicit(&space->read_only, memory_order_relaxed);
}
