/*
 * ring FILE: creates FILE through io_uring, or by open() where the kernel offers none; prints
 * which.
 */
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <linux/io_uring.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

static int open_by_ring(const char *path) {
  struct io_uring_params params;
  memset(&params, 0, sizeof params);
  int ring = (int)syscall(SYS_io_uring_setup, 1, &params);
  if (ring < 0)
    return -1;
  size_t size = params.sq_off.array + params.sq_entries * sizeof(unsigned);
  size_t results = params.cq_off.cqes + params.cq_entries * sizeof(struct io_uring_cqe);
  char *queue = mmap(NULL, size > results ? size : results, PROT_READ | PROT_WRITE, MAP_SHARED,
                     ring, IORING_OFF_SQ_RING);
  struct io_uring_sqe *entry =
      mmap(NULL, sizeof *entry, PROT_READ | PROT_WRITE, MAP_SHARED, ring, IORING_OFF_SQES);
  if (queue == MAP_FAILED || entry == MAP_FAILED)
    return -1;
  memset(entry, 0, sizeof *entry);
  entry->opcode = IORING_OP_OPENAT;
  entry->fd = AT_FDCWD;
  entry->addr = (uintptr_t)path;
  entry->open_flags = O_CREAT | O_WRONLY;
  entry->len = 0644;
  *(unsigned *)(queue + params.sq_off.array) = 0;
  __atomic_store_n((unsigned *)(queue + params.sq_off.tail), 1, __ATOMIC_RELEASE);
  if (syscall(SYS_io_uring_enter, ring, 1, 1, IORING_ENTER_GETEVENTS, NULL, 0) != 1)
    return -1;
  return ((struct io_uring_cqe *)(queue + params.cq_off.cqes))->res;
}

int main(int argc, char **argv) {
  if (argc != 2)
    return 2;
  if (open_by_ring(argv[1]) >= 0)
    return puts("ring") < 0;
  printf("open, errno %d\n", errno);
  return open(argv[1], O_CREAT | O_WRONLY, 0644) < 0;
}
