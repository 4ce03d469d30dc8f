#include "lock.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <linux/futex.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "runtime/self.h"
#include "system/clock.h"
#include "system/pause.h"

#define WAITED 1ull
#define START_BITS 41
#define START ((((uint64_t)1 << START_BITS) - 1) << 1)
#define SPINS 200
#define LOOK_NS 50000000ull /* how often the holder is looked at */
#define SECOND_NS 1000000000ull

static int32_t process_of(uint64_t word) { return (int32_t)(word >> (START_BITS + 1)); }
static uint64_t without_mark(uint64_t word) { return word & ~WAITED; }

/* What /proc says of a process: state, threads and start time (proc(5), fields 3, 20 and 22). */
struct seen {
  char state;
  long threads;
  uint64_t start;
};

static bool look(int32_t process, struct seen *seen) {
  char path[32], text[1024];
  snprintf(path, sizeof path, "/proc/%d/stat", process);
  int fd = open(path, O_RDONLY | O_CLOEXEC);
  if (fd < 0)
    return false;
  ssize_t length = read(fd, text, sizeof text - 1);
  close(fd);
  if (length <= 0)
    return false;
  text[length] = '\0';
  const char *after_name = strrchr(text, ')'); /* a name may hold anything */
  unsigned long long start = 0;
  if (!after_name ||
      sscanf(after_name + 1,
             " %c %*d %*d %*d %*d %*d %*u %*u %*u %*u %*u %*u %*u %*d %*d %*d %*d %ld"
             " %*d %llu",
             &seen->state, &seen->threads, &start) != 3)
    return false;
  seen->start = start;
  return true;
}

static uint64_t make_word(int32_t process, uint64_t start) {
  return (uint64_t)process << (START_BITS + 1) | (start << 1 & START);
}

/* This process, as it stands in a lock; asked of the kernel once in each process. */
static uint64_t own_word(void) {
  static _Atomic uint64_t known;
  int32_t process = ses_self_pid();
  uint64_t self = atomic_load_explicit(&known, memory_order_relaxed);
  if (process_of(self) == process)
    return self;
  struct seen seen = {0};
  look(process, &seen);
  self = make_word(process, seen.start);
  atomic_store_explicit(&known, self, memory_order_relaxed);
  return self;
}

/* A process that cannot be seen, but is there, counts as the holder. */
static bool is_dead(uint64_t word) {
  struct seen seen;
  int32_t process = process_of(word);
  if (process <= 0 || (kill(process, 0) != 0 && errno == ESRCH))
    return true;
  if (!look(process, &seen))
    return false;
  if ((word & START) != 0 && make_word(process, seen.start) != without_mark(word))
    return true;
  return seen.state == 'X' || (seen.state == 'Z' && seen.threads <= 1);
}

bool ses_lock_is_dead(int32_t process) { return is_dead(make_word(process, 0)); }

/* The half of a lock's word that the kernel compares: the mark and the start time. */
static const _Atomic uint32_t *half_of(const struct ses_lock *lock) {
  const _Atomic uint32_t *halves = (const _Atomic uint32_t *)&lock->word;
  return &halves[__BYTE_ORDER__ == __ORDER_BIG_ENDIAN__];
}

void ses_lock_sleep(const _Atomic uint32_t *word, uint32_t value, uint64_t ns) {
  struct timespec most = {.tv_sec = (time_t)(ns / SECOND_NS), .tv_nsec = (long)(ns % SECOND_NS)};
  syscall(SYS_futex, word, FUTEX_WAIT, value, &most, NULL, 0);
}

void ses_lock_wake(const _Atomic uint32_t *word, int most) {
  syscall(SYS_futex, word, FUTEX_WAKE, most, NULL, NULL, 0);
}

static bool move(struct ses_lock *lock, uint64_t from, uint64_t to) {
  return atomic_compare_exchange_strong_explicit(&lock->word, &from, to, memory_order_acquire,
                                                 memory_order_relaxed);
}

static bool take_soon(struct ses_lock *lock, uint64_t self) {
  for (int i = 0; i < SPINS; i++) {
    if (atomic_load_explicit(&lock->word, memory_order_relaxed) == 0 && move(lock, 0, self))
      return true;
    ses_pause();
  }
  return false;
}

int ses_lock_take(struct ses_lock *lock, uint64_t deadline_ns) {
  uint64_t self = own_word();
  if (move(lock, 0, self) || take_soon(lock, self))
    return 0;
  for (;;) {
    uint64_t word = atomic_load_explicit(&lock->word, memory_order_relaxed);
    if (word == 0) { /* others may wait still: the mark stays */
      if (move(lock, 0, self | WAITED))
        return 0;
      continue;
    }
    if (!(word & WAITED) && !move(lock, word, word | WAITED))
      continue;
    uint64_t now = ses_now_ns();
    if (is_dead(word)) {
      if (move(lock, word | WAITED, self | WAITED))
        return EOWNERDEAD;
      continue;
    }
    if (now >= deadline_ns)
      return ETIMEDOUT;
    uint64_t left = deadline_ns - now;
    ses_lock_sleep(half_of(lock), (uint32_t)(word | WAITED), left < LOOK_NS ? left : LOOK_NS);
  }
}

bool ses_lock_give(struct ses_lock *lock) {
  uint64_t word = atomic_load_explicit(&lock->word, memory_order_relaxed), self = own_word();
  while (without_mark(word) == self) {
    if (!atomic_compare_exchange_weak_explicit(&lock->word, &word, 0, memory_order_release,
                                               memory_order_relaxed))
      continue;
    if (word & WAITED)
      ses_lock_wake(half_of(lock), 1);
    return true;
  }
  return false;
}

int32_t ses_lock_holder(const struct ses_lock *lock) {
  uint64_t word = atomic_load_explicit(&lock->word, memory_order_acquire);
  return word == 0 || is_dead(word) ? 0 : process_of(word);
}

bool ses_lock_is_own(const struct ses_lock *lock) {
  return without_mark(atomic_load_explicit(&lock->word, memory_order_relaxed)) == own_word();
}

bool ses_lock_is_open(const struct ses_lock *lock) {
  uint64_t word = atomic_load_explicit(&lock->word, memory_order_acquire);
  return word == 0 || without_mark(word) == own_word() || is_dead(word);
}
