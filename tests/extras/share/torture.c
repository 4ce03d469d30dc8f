/*
 * torture REGION BYTES READS: two writers put values whose words are all alike, and are killed and
 * begun again; two readers get READS values together, and go on until they met one that a writer
 * put.  Ends with 1 and a line on standard error if a value was torn or went back, else prints what
 * was done.
 */
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "ses/share.h"

#define WRITERS 2
#define READERS 2

static const char *region;
static size_t bytes;

static ses_share_item *item_of(void) {
  ses_share *share;
  ses_share_item *item;
  ses_share_kind kind = {.bytes = bytes};
  if (ses_share_open(region, &share) != 0 || ses_share_have(share, "tortured", &kind, &item) != 0)
    _exit(3);
  return item;
}

static void write_for_ever(void) {
  ses_share_item *item = item_of();
  uint64_t *value = malloc(bytes);
  for (uint64_t i = (uint64_t)getpid() << 32;; i++) {
    for (size_t word = 0; word < bytes / 8; word++)
      value[word] = i;
    if (ses_share_put(item, value, bytes, NULL) != 0)
      _exit(4);
  }
}

static void read_often(long reads) {
  ses_share_item *item = item_of();
  uint64_t *value = malloc(bytes), before = 0, version = 0;
  for (long i = 0; i < reads || version <= 1; i++) {
    size_t size = 0;
    int status = ses_share_get(item, value, bytes, &size, &version);
    if (status != 0 || size != bytes) {
      fprintf(stderr, "read %ld: %s, %zu bytes\n", i, strerror(status), size);
      _exit(1);
    }
    for (size_t word = 1; word < bytes / 8; word++)
      if (value[word] != value[0]) {
        fprintf(stderr, "read %ld is torn at word %zu of version %lu\n", i, word, version);
        _exit(1);
      }
    if (version < before) {
      fprintf(stderr, "read %ld went back from version %lu to %lu\n", i, before, version);
      _exit(1);
    }
    before = version;
  }
  _exit(0);
}

static pid_t begin(void (*what)(void)) {
  pid_t child = fork();
  if (child == 0)
    what();
  return child;
}

static long reads_each;
static void read_share(void) { read_often(reads_each); }

int main(int argc, char **argv) {
  if (argc != 4)
    return 2;
  region = argv[1];
  bytes = strtoul(argv[2], NULL, 10);
  reads_each = strtol(argv[3], NULL, 10) / READERS;
  uint64_t *first = calloc(1, bytes), last = 0;
  ses_share_item *item = item_of();
  ses_share_put(item, first, bytes, NULL);
  pid_t writers[WRITERS], readers[READERS];
  for (int i = 0; i < WRITERS; i++)
    writers[i] = begin(write_for_ever);
  for (int i = 0; i < READERS; i++)
    readers[i] = begin(read_share);
  int left = READERS, failed = 0;
  long killed = 0;
  while (left > 0) {
    nanosleep(&(struct timespec){.tv_nsec = 1000000 + rand() % 1000000}, NULL);
    int victim = rand() % WRITERS, status;
    kill(writers[victim], SIGKILL);
    waitpid(writers[victim], &status, 0);
    failed |= !WIFSIGNALED(status);
    killed++;
    writers[victim] = begin(write_for_ever);
    for (int i = 0; i < READERS; i++)
      if (readers[i] && waitpid(readers[i], &status, WNOHANG) == readers[i]) {
        failed |= !WIFEXITED(status) || WEXITSTATUS(status) != 0;
        readers[i] = 0;
        left--;
      }
  }
  for (int i = 0; i < WRITERS; i++) {
    kill(writers[i], SIGKILL);
    waitpid(writers[i], NULL, 0);
  }
  ses_share_version(item, &last, NULL);
  printf("reads=%ld killed=%ld versions=%lu\n", reads_each * READERS, killed, last);
  return failed;
}
