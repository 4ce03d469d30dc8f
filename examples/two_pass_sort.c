/*
 * two_pass_sort INPUT OUTPUT MEMORY_MIB: sort a file that is larger than memory by reading and
 * writing it twice.
 *
 *     cc -O2 two_pass_sort.c -o two_pass_sort && ./two_pass_sort input output 64
 *
 * Records have 128 bytes, of which the first 16 are the key (compared as bytes; records of one key
 * keep no order).  The first pass sorts as much as fits into memory, and writes it as a run beside
 * OUTPUT; the second merges all runs.  Past the page cache (O_DIRECT) where the file system does
 * that, and reading, computing and writing in turn: so each pass is what the model of
 * docs/streaming.md calls a stream that does not overlap.
 *
 * Prints a line for each pass: name, seconds, seconds of the processor, bytes read, bytes written.
 * Ends with 1 if something cannot be read or written, 2 for wrong use or memory for too few runs.
 */
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#define RECORD 128
#define KEY 16
#define BLOCK ((size_t)1 << 18) /* of a read or a write */
#define MAX_RUNS 256

struct file {
  int fd;
  off_t at;  /* of the next read or write */
  off_t end; /* of what is read */
  char *buffer;
  size_t used; /* bytes in the buffer, and of these taken */
  size_t taken;
};

static uint64_t read_bytes, written_bytes;

static void fail(const char *what) {
  perror(what);
  exit(1);
}

static double seconds_of(clockid_t clock) {
  struct timespec now;
  clock_gettime(clock, &now);
  return (double)now.tv_sec + (double)now.tv_nsec / 1e9;
}

static int open_direct(const char *name, int flags) {
  int fd = open(name, flags | O_DIRECT | O_CLOEXEC, 0600);
  if (fd < 0 && errno == EINVAL)
    fd = open(name, flags | O_CLOEXEC, 0600);
  if (fd < 0)
    fail(name);
  return fd;
}

static char *aligned(size_t bytes) {
  void *buffer;
  if (posix_memalign(&buffer, 4096, bytes) != 0)
    fail("memory");
  return buffer;
}

/* Up to BYTES, in blocks; how many there were. */
static size_t take(int fd, off_t at, char *into, size_t bytes) {
  size_t done = 0;
  while (done < bytes) {
    size_t part = bytes - done < BLOCK ? bytes - done : BLOCK;
    ssize_t count = pread(fd, into + done, part, at + (off_t)done);
    if (count < 0)
      fail("read");
    if (count == 0)
      break;
    done += (size_t)count;
  }
  read_bytes += done;
  return done;
}

static void give(int fd, off_t at, const char *from, size_t bytes) {
  for (size_t done = 0; done < bytes;) {
    size_t part = bytes - done < BLOCK ? bytes - done : BLOCK;
    ssize_t count = pwrite(fd, from + done, part, at + (off_t)done);
    if (count < 0)
      fail("write");
    done += (size_t)count;
  }
  written_bytes += bytes;
}

static int by_key(const void *first, const void *second) { return memcmp(first, second, KEY); }

static void report(const char *pass, double began, double used) {
  printf("%s %.3f %.3f %lu %lu\n", pass, seconds_of(CLOCK_MONOTONIC) - began,
         seconds_of(CLOCK_PROCESS_CPUTIME_ID) - used, read_bytes, written_bytes);
  read_bytes = written_bytes = 0;
}

/* The first pass: runs of MEMORY bytes, each sorted; how many. */
static unsigned make_runs(int input, int runs, size_t memory) {
  char *buffer = aligned(memory);
  unsigned count = 0;
  off_t at = 0;
  for (size_t bytes; (bytes = take(input, at, buffer, memory)) > 0; at += (off_t)bytes, count++) {
    qsort(buffer, bytes / RECORD, RECORD, by_key);
    give(runs, at, buffer, bytes);
  }
  free(buffer);
  return count;
}

/* The next record of a run; NULL: there is none. */
static const char *head(struct file *run, size_t room) {
  if (run->taken == run->used) {
    size_t left = (size_t)(run->end - run->at);
    run->used = take(run->fd, run->at, run->buffer, left < room ? left : room);
    run->at += (off_t)run->used;
    run->taken = 0;
  }
  return run->used ? run->buffer + run->taken : NULL;
}

/* Let the run at PLACE of the heap sink to where its record belongs. */
static void sink(struct file **heap, unsigned count, unsigned place) {
  for (unsigned child; (child = 2 * place + 1) < count; place = child) {
    if (child + 1 < count && by_key(heap[child + 1]->buffer + heap[child + 1]->taken,
                                    heap[child]->buffer + heap[child]->taken) < 0)
      child++;
    if (by_key(heap[place]->buffer + heap[place]->taken,
               heap[child]->buffer + heap[child]->taken) <= 0)
      return;
    struct file *run = heap[place];
    heap[place] = heap[child];
    heap[child] = run;
  }
}

/* The second pass: merge COUNT runs of MEMORY bytes, with ROOM for each and half of it for the
 * output, so that reading and writing take turns as seldom as may be. */
static void merge(int runs, off_t end, unsigned count, size_t memory, int output, size_t room) {
  static struct file all[MAX_RUNS];
  struct file *heap[MAX_RUNS], made = {.fd = output, .buffer = aligned(memory / 2)};
  unsigned left = 0;
  for (unsigned i = 0; i < count; i++) {
    off_t first = (off_t)(i * memory), last = first + (off_t)memory;
    all[i] = (struct file){
        .fd = runs, .at = first, .end = last < end ? last : end, .buffer = aligned(room)};
    if (head(&all[i], room))
      heap[left++] = &all[i];
  }
  for (unsigned i = left; i-- > 0;)
    sink(heap, left, i);
  while (left > 0) {
    memcpy(made.buffer + made.used, heap[0]->buffer + heap[0]->taken, RECORD);
    made.used += RECORD;
    heap[0]->taken += RECORD;
    if (!head(heap[0], room))
      heap[0] = heap[--left];
    sink(heap, left, 0);
    if (made.used == memory / 2 || left == 0) {
      give(output, made.at, made.buffer, made.used);
      made.at += (off_t)made.used;
      made.used = 0;
    }
  }
}

int main(int argc, char **argv) {
  size_t memory = argc == 4 ? strtoul(argv[3], NULL, 10) << 20 : 0;
  char name[4096];
  struct stat facts;
  if (memory == 0 || snprintf(name, sizeof name, "%s.runs", argv[2]) >= (int)sizeof name) {
    fprintf(stderr, "usage: two_pass_sort INPUT OUTPUT MEMORY_MIB\n");
    return 2;
  }
  int input = open_direct(argv[1], O_RDONLY);
  if (fstat(input, &facts) != 0)
    fail(argv[1]);
  size_t count = ((size_t)facts.st_size + memory - 1) / memory;
  size_t room = memory / 2 / (count ? count : 1) / 4096 * 4096;
  if (facts.st_size % 4096 != 0 || count > MAX_RUNS || room == 0) {
    fprintf(stderr, "two_pass_sort: whole pages, please, and at most %d runs of memory\n",
            MAX_RUNS);
    return 2;
  }
  int runs = open_direct(name, O_RDWR | O_CREAT | O_EXCL);
  unlink(name); /* nothing stays, however this ends */
  int output = open_direct(argv[2], O_WRONLY | O_CREAT | O_TRUNC);
  double began = seconds_of(CLOCK_MONOTONIC), used = seconds_of(CLOCK_PROCESS_CPUTIME_ID);
  unsigned made = make_runs(input, runs, memory);
  fdatasync(runs);
  report("runs", began, used);
  began = seconds_of(CLOCK_MONOTONIC), used = seconds_of(CLOCK_PROCESS_CPUTIME_ID);
  merge(runs, facts.st_size, made, memory, output, room);
  if (fdatasync(output) != 0)
    fail(argv[2]);
  report("merge", began, used);
  return 0;
}
