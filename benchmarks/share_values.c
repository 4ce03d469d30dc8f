/*
 * share_values [NODE]: nanoseconds of a put and a get of libses-share, by size and model, and of
 * the same bytes through a Unix socket pair; each the median of 200 groups of calls, in turn.
 *
 * Prints a line for each: SIZE WHAT NANOSECONDS.  "busy get" is a get while another process puts
 * without pause.  With NODE (HOST:PORT of its ses-share-agent) the values lie there.
 */
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "ses/share.h"

#define GROUPS 200

static char value[65536], got[65536];
static ses_share_item *item;
static size_t bytes;
static int calls = 500; /* of a group */
static int ends[2];

static void must(int status, const char *what) {
  if (status != 0) {
    fprintf(stderr, "share_values: %s: %s\n", what, strerror(status));
    exit(1);
  }
}

static void put(void) { must(ses_share_put(item, value, bytes, NULL), "put"); }
static void get(void) { must(ses_share_get(item, got, sizeof got, NULL, NULL), "get"); }

static void send_and_receive(void) {
  if (write(ends[0], value, bytes) != (ssize_t)bytes || read(ends[1], got, bytes) <= 0)
    must(1, "socket pair");
}

static double ns_of(void (*call)(void)) {
  struct timespec begun, ended;
  clock_gettime(CLOCK_MONOTONIC, &begun);
  for (int i = 0; i < calls; i++)
    call();
  clock_gettime(CLOCK_MONOTONIC, &ended);
  return ((double)(ended.tv_sec - begun.tv_sec) * 1e9 + (double)(ended.tv_nsec - begun.tv_nsec)) /
         calls;
}

static int by_size(const void *first, const void *second) {
  double a = *(const double *)first, b = *(const double *)second;
  return (a > b) - (a < b);
}

static void print(const char *what, double *groups) {
  qsort(groups, GROUPS, sizeof *groups, by_size);
  printf("%zu %s %.1f\n", bytes, what, groups[GROUPS / 2]);
}

static void compare(const char *model) {
  static double puts_[GROUPS], gets[GROUPS], sockets[GROUPS];
  char what[32];
  for (int i = -10; i < GROUPS; i++) { /* the first ten warm up */
    double a = ns_of(put), b = ns_of(get), c = ns_of(send_and_receive);
    if (i >= 0) {
      puts_[i] = a;
      gets[i] = b;
      sockets[i] = c;
    }
  }
  snprintf(what, sizeof what, "%s-put", model);
  print(what, puts_);
  snprintf(what, sizeof what, "%s-get", model);
  print(what, gets);
  print("socket-pair", sockets);
}

static void get_while_another_puts(void) {
  static double gets[GROUPS];
  pid_t writer = fork();
  if (writer == 0)
    for (;;)
      put();
  for (int i = 0; i < GROUPS; i++)
    gets[i] = ns_of(get);
  kill(writer, SIGKILL);
  waitpid(writer, NULL, 0);
  print("busy-get", gets);
}

int main(int argc, char **argv) {
  static const struct {
    const char *name;
    enum ses_share_model model;
  } models[] = {{"read", SES_SHARE_READ}, {"write", SES_SHARE_WRITE}, {"strict", SES_SHARE_STRICT}};
  static const size_t sizes[] = {8, 64, 1024, 16384, 65536};
  ses_share *share;
  char name[300];
  const char *node = argc > 1 ? argv[1] : NULL;
  snprintf(name, sizeof name, node ? "bench-%d@%s" : "bench-%d", getpid(), node);
  calls = node ? 10 : calls;
  must(ses_share_create(name, &(ses_share_options){.bytes = 1 << 20}, &share), "create");
  must(ses_share_remove(name), "remove");
  if (socketpair(AF_UNIX, SOCK_STREAM, 0, ends) != 0)
    must(1, "socketpair");
  for (size_t model = 0; model < sizeof models / sizeof models[0]; model++)
    for (size_t size = 0; size < sizeof sizes / sizeof sizes[0]; size++) {
      bytes = sizes[size];
      ses_share_kind kind = {.bytes = bytes, .model = models[model].model};
      must(ses_share_alloc(share, "item", &kind, &item), "alloc");
      compare(models[model].name);
      if (!node && models[model].model == SES_SHARE_READ)
        get_while_another_puts();
      must(ses_share_free(item), "free");
    }
  return 0;
}
