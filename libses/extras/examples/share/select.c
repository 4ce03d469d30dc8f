/*
 * select RECORDS QUERIES [NODE...]: queries over records that another process holds, in the manner
 * of STORM (section 4.3 of Vaidyanathan, Lai, Narravula and Panda, OSU-CISRC-8/07-TR53).
 *
 *     cc select.c $(pkg-config --cflags --libs ses-share) -o select && ./select 10000 200
 *
 * One process has the records, in blocks, and gives each block another version now and then.
 * Another asks: records whose value lies in a range, out of all blocks.  It gets the blocks once
 * out of shared memory, and once through a Unix socket from the process that has them.  Prints the
 * milliseconds of a query (median) for each way.  Ends with 1 if the two find different records.
 *
 * With NODEs (HOST:PORT of their ses-share-agents) the blocks lie on these in turn.
 */
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include <ses/share.h>

#define BLOCK 250 /* records */
#define MAX_BLOCKS 4000u
#define MAX_NODES 64u

struct record {
  uint64_t key;
  double value;
  char text[48];
};

struct block {
  uint32_t count;
  uint32_t padding;
  struct record records[BLOCK];
};

struct query {
  double from;
  double to;
};

struct result {
  unsigned count;
  uint64_t keys; /* their sum */
};

static void must(int status, const char *what) {
  if (status != 0) {
    fprintf(stderr, "select: %s: %s\n", what, strerror(status));
    exit(1);
  }
}

static double now_ms(void) {
  struct timespec now;
  clock_gettime(CLOCK_MONOTONIC, &now);
  return (double)now.tv_sec * 1e3 + (double)now.tv_nsec / 1e6;
}

static void fill(struct block *block, unsigned number, unsigned records) {
  unsigned first = number * BLOCK;
  block->count = records - first < BLOCK ? records - first : BLOCK;
  for (unsigned i = 0; i < block->count; i++) {
    uint64_t key = first + i;
    block->records[i].key = key;
    block->records[i].value = (double)(key * 2654435761u % 1000000) / 1e6;
    snprintf(block->records[i].text, sizeof block->records[i].text, "record %lu", key);
  }
}

static void filter(const struct block *block, const struct query *query, struct result *result) {
  for (uint32_t i = 0; i < block->count; i++)
    if (block->records[i].value >= query->from && block->records[i].value < query->to) {
      result->count++;
      result->keys += block->records[i].key;
    }
}

static unsigned nodes = 1;
static ses_share *shares[MAX_NODES];

static ses_share_item *item_of(unsigned number) {
  ses_share *share = shares[number % nodes];
  ses_share_item *item;
  char name[SES_SHARE_NAME_MAX];
  snprintf(name, sizeof name, "block-%u", number);
  must(ses_share_have(share, name, &(ses_share_kind){.bytes = sizeof(struct block)}, &item), name);
  return item;
}

static void all_of(int fd, void *buffer, size_t bytes, ssize_t (*step)(int, void *, size_t)) {
  for (size_t done = 0; done < bytes;) {
    ssize_t more = step(fd, (char *)buffer + done, bytes - done);
    if (more <= 0)
      exit(more < 0);
    done += (size_t)more;
  }
}

static ssize_t write_some(int fd, void *buffer, size_t bytes) { return write(fd, buffer, bytes); }

/* The process that has the records: puts them, then answers on the socket until it is closed. */
static void serve(int socket, unsigned blocks, unsigned records) {
  struct block *all = calloc(blocks, sizeof *all);
  for (unsigned i = 0; i < blocks; i++) {
    fill(&all[i], i, records);
    must(ses_share_put(item_of(i), &all[i], sizeof all[i], NULL), "put");
  }
  for (char asked;;) {
    all_of(socket, &asked, 1, read);
    all_of(socket, all, blocks * sizeof *all, write_some);
    unsigned changed = (unsigned)rand() % blocks; /* a block that changed */
    must(ses_share_put(item_of(changed), &all[changed], sizeof all[changed], NULL), "put");
  }
}

static struct result by_share(ses_share_item **items, unsigned blocks, const struct query *query) {
  static struct block block;
  struct result result = {0};
  for (unsigned i = 0; i < blocks; i++) {
    must(ses_share_get(items[i], &block, sizeof block, NULL, NULL), "get");
    filter(&block, query, &result);
  }
  return result;
}

static struct result by_socket(int socket, unsigned blocks, const struct query *query) {
  static struct block block;
  struct result result = {0};
  char ask = 'q';
  all_of(socket, &ask, 1, write_some);
  for (unsigned i = 0; i < blocks; i++) {
    all_of(socket, &block, sizeof block, read);
    filter(&block, query, &result);
  }
  return result;
}

static int by_size(const void *first, const void *second) {
  double a = *(const double *)first, b = *(const double *)second;
  return (a > b) - (a < b);
}

static int compare(int socket, unsigned blocks, unsigned records, unsigned queries) {
  ses_share_item **items = calloc(blocks, sizeof(ses_share_item *));
  double *shared = calloc(queries, sizeof *shared), *sent = calloc(queries, sizeof *sent);
  for (unsigned i = 0; i < blocks; i++) {
    items[i] = item_of(i);
    must(ses_share_await(items[i], 0), "the records");
  }
  for (unsigned i = 0; i < queries; i++) {
    double from = (double)(i % 10) / 10;
    struct query query = {from, from + 0.05};
    double begun = now_ms();
    struct result shared_result = by_share(items, blocks, &query);
    double between = now_ms();
    struct result sent_result = by_socket(socket, blocks, &query);
    sent[i] = now_ms() - between;
    shared[i] = between - begun;
    if (shared_result.count != sent_result.count || shared_result.keys != sent_result.keys ||
        shared_result.count == 0) {
      fprintf(stderr, "select: %u records by shared memory, %u by the socket\n",
              shared_result.count, sent_result.count);
      return 1;
    }
  }
  qsort(shared, queries, sizeof *shared, by_size);
  qsort(sent, queries, sizeof *sent, by_size);
  printf("%u records: %.3f ms a query by shared memory, %.3f ms by a socket\n", records,
         shared[queries / 2], sent[queries / 2]);
  return 0;
}

/* The region on each node, or on this one. */
static void name_of(char *name, size_t room, pid_t maker, const char *node) {
  snprintf(name, room, node ? "select-%d@%s" : "select-%d", maker, node);
}

int main(int argc, char **argv) {
  unsigned records = argc >= 3 ? (unsigned)strtoul(argv[1], NULL, 10) : 0;
  unsigned queries = argc >= 3 ? (unsigned)strtoul(argv[2], NULL, 10) : 0;
  unsigned blocks = (records + BLOCK - 1) / BLOCK;
  pid_t maker = getpid();
  int ends[2];
  char name[SES_SHARE_NAME_MAX];
  nodes = argc > 3 ? (unsigned)argc - 3 : 1;
  if (blocks == 0 || blocks > MAX_BLOCKS || queries == 0 || nodes > MAX_NODES) {
    fprintf(stderr, "usage: select RECORDS QUERIES [NODE...] (at most %u records)\n",
            MAX_BLOCKS * BLOCK);
    return 2;
  }
  uint64_t bytes = (uint64_t)blocks * 2 * (sizeof(struct block) + 128);
  ses_share_options options = {.bytes = bytes, .items = blocks};
  for (unsigned i = 0; i < nodes; i++) {
    name_of(name, sizeof name, maker, argv[3 + i]);
    must(ses_share_create(name, &options, &shares[i]), name);
  }
  if (socketpair(AF_UNIX, SOCK_STREAM, 0, ends) != 0)
    return 1;
  if (fork() == 0) {
    close(ends[0]);
    for (unsigned i = 0; i < nodes; i++) {
      name_of(name, sizeof name, maker, argv[3 + i]);
      must(ses_share_open(name, &shares[i]), name);
    }
    serve(ends[1], blocks, records);
  }
  close(ends[1]);
  int failed = compare(ends[0], blocks, records, queries);
  close(ends[0]);
  wait(NULL);
  for (unsigned i = 0; i < nodes; i++) {
    name_of(name, sizeof name, maker, argv[3 + i]);
    must(ses_share_remove(name), name);
  }
  return failed;
}
