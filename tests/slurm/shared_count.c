/*
 * shared_count REGION              opens it, and prints the number of the error
 * shared_count REGION TASKS FILE   one of so many tasks of a job that count themselves there: makes
 *                                  the region if none did yet, waits until all have counted, prints
 *                                  how many there are, and stays until FILE exists
 */
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include <ses/share.h>

static void must(int status, const char *what) {
  if (status == 0)
    return;
  fprintf(stderr, "shared_count: %s: %s\n", what, strerror(status));
  exit(1);
}

static ses_share *opened_or_made(const char *name) {
  ses_share *share;
  int status = ses_share_create(name, NULL, &share);
  must(status == EEXIST ? ses_share_open(name, &share) : status, name);
  ses_share_patience(share, 60);
  return share;
}

static uint64_t count_in(ses_share *share, uint64_t tasks) {
  ses_share_kind kind = {.bytes = sizeof(uint64_t), .model = SES_SHARE_WRITE};
  ses_share_item *item;
  uint64_t count = 0, version;
  must(ses_share_have(share, "count", &kind, &item), "count");
  must(ses_share_lock(item), "lock");
  int status = ses_share_get(item, &count, sizeof count, NULL, NULL);
  must(status == ENOENT ? 0 : status, "get");
  count++;
  must(ses_share_put(item, &count, sizeof count, &version), "put");
  must(ses_share_unlock(item), "unlock");
  while (count < tasks) {
    must(ses_share_await(item, version), "wait");
    must(ses_share_get(item, &count, sizeof count, NULL, &version), "get");
  }
  return count;
}

int main(int argc, char **argv) {
  if (argc == 2) {
    ses_share *share;
    printf("%d\n", ses_share_open(argv[1], &share));
    return 0;
  }
  if (argc != 4)
    return 2;
  printf("%" PRIu64 "\n", count_in(opened_or_made(argv[1]), strtoull(argv[2], NULL, 10)));
  fflush(stdout);
  while (access(argv[3], F_OK) != 0)
    nanosleep(&(struct timespec){.tv_nsec = 20000000}, NULL);
  return 0;
}
