/*
 * A lock in shared memory whose holder may die: one word, free at 0.
 *
 * The word names the holder by process number and start time, so that a dead holder is told from a
 * later process of the same number; 0 where the holder could not read its own, which then counts as
 * alive while there is a process of its number.  Who waits looks at the holder every 50 ms, and
 * takes the lock over from a dead one.  It belongs to a process, not a thread, and is not
 * recursive. A child of fork() is another process: the lock stays its parent's.
 *
 * (Not a robust mutex of the C library: its list of held mutexes lies in the shared memory, where
 * whoever may write it could make this process write elsewhere.)
 *
 *   bits 42..63  process number      bits 1..41  start, clock ticks since boot      bit 0  waited
 * for
 */
#ifndef SES_SHM_LOCK_H
#define SES_SHM_LOCK_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

struct ses_lock {
  _Atomic uint64_t word;
};

/* Take LOCK until DEADLINE_NS (CLOCK_MONOTONIC).  0, EOWNERDEAD: taken, from a dead holder, or
 * ETIMEDOUT. */
int ses_lock_take(struct ses_lock *lock, uint64_t deadline_ns);

/* Give it back.  False: this process does not hold it. */
bool ses_lock_give(struct ses_lock *lock);

bool ses_lock_is_own(const struct ses_lock *lock);

/* The process that holds it and lives; 0: none. */
int32_t ses_lock_holder(const struct ses_lock *lock);

/* True: nobody else than this process holds it, or one that is dead. */
bool ses_lock_is_open(const struct ses_lock *lock);

/* Is there no such PROCESS any more, but for what its parent has not asked for? */
bool ses_lock_is_dead(int32_t process);

/* Sleep while *WORD is VALUE, at most NS; for waiting on another's word. */
void ses_lock_sleep(const _Atomic uint32_t *word, uint32_t value, uint64_t ns);
void ses_lock_wake(const _Atomic uint32_t *word, int most);

#endif /* SES_SHM_LOCK_H */
