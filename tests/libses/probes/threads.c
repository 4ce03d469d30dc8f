/*
 * threads COUNT DIRECTORY...: COUNT placed files by each of eight threads, in the directories by
 * turns.
 *
 * Linked with the sources of the library, so that a sanitizer can watch what the threads share.
 */
#include <fcntl.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "place/place.h"

#define THREADS 8

static int count;
static char **directories;
static int directory_count;

static void *create(void *argument) {
  long failed = 0;
  for (int i = 0; i < count; i++) {
    char path[4096];
    struct ses_where where;
    snprintf(path, sizeof path, "%s/%d-%d", directories[i % directory_count], *(int *)argument, i);
    int fd = ses_place_open(AT_FDCWD, path, O_CREAT | O_EXCL | O_WRONLY, 0644, NULL, &where);
    failed += fd < 0;
    if (fd >= 0)
      close(fd);
  }
  return (void *)failed;
}

int main(int argc, char **argv) {
  if (argc < 3)
    return 2;
  count = atoi(argv[1]);
  directories = &argv[2];
  directory_count = argc - 2;
  pthread_t threads[THREADS];
  int numbers[THREADS];
  for (int i = 0; i < THREADS; i++) {
    numbers[i] = i;
    if (pthread_create(&threads[i], NULL, create, &numbers[i]) != 0)
      return 3;
  }
  long failed = 0;
  for (int i = 0; i < THREADS; i++) {
    void *result = NULL;
    pthread_join(threads[i], &result);
    failed += (long)result;
  }
  printf("%ld\n", failed);
  return 0;
}
