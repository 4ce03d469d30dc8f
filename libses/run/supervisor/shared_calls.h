// What watchdog and worker share, so that either can go on where the other was killed.
//
// The kernel writes each call straight into a slot: the number of a call that was taken is never
// known only to a process that has died.
#ifndef SES_RUN_SUPERVISOR_SHARED_CALLS_H
#define SES_RUN_SUPERVISOR_SHARED_CALLS_H

#include <linux/seccomp.h>

#include <atomic>
#include <cstdint>

namespace ses::run {

inline constexpr unsigned kSlots = 8; // calls in work at a time

// Of a call whose number is in a slot.
enum class Phase : uint64_t {
  kOpen = 0,      // being looked at: nothing has been changed
  kCreating = 1,  // by the worker: a file may have been made
  kAbandoned = 2, // answered by the watchdog: the worker leaves it alone
  kGiving = 3,    // by the worker: the file is made, its process may have the descriptor already
};

struct Slot {
  // Low bits of the call's number, and its phase; 0: not known yet.
  std::atomic<uint64_t> state;
  // kGiving: what was made.
  uint64_t device;
  uint64_t inode;
  union {
    seccomp_notif call; // all zero: none has come
    char room[256];     // later kernels may write more
  };
};

struct SharedCalls {
  std::atomic<uint64_t> received; // calls the worker has taken
  // A process has confined itself by rules that cannot be seen from outside; nothing is created for
  // any of them any more.
  std::atomic<bool> confined;
  // The standby that started last; 0: none has, or one has taken over.  A watchdog that is killed
  // while it starts a standby leaves a spare one.
  std::atomic<int> standby;
  // Inode of the pipe by which standbys learn of a death; 0: one of them takes over.
  std::atomic<uint64_t> life_pipe;
  Slot slots[kSlots];
  Slot watchdog_slot; // the call the watchdog has taken: its successor answers it
};

static_assert(std::atomic<uint64_t>::is_always_lock_free, "processes share them");

inline uint64_t state_of(uint64_t id, Phase phase) {
  return id << 2 | static_cast<uint64_t>(phase);
}
inline bool is_about(uint64_t state, uint64_t id) { return state >> 2 == (id << 2) >> 2; }
inline Phase phase_of(uint64_t state) { return static_cast<Phase>(state & 3); }

// The number of the call in SLOT; 0: none.  The kernel writes it.
inline uint64_t id_in(const Slot &slot) { return __atomic_load_n(&slot.call.id, __ATOMIC_ACQUIRE); }

// Worker: move the call ID of SLOT to PHASE.  False: the watchdog has answered it.
bool claim(Slot &slot, uint64_t id, Phase phase);
// Watchdog: answer the call ID of SLOT instead of the worker.  False: it is past that.
bool abandon(Slot &slot, uint64_t id);

// Memory for them, as a descriptor; -1: none.
int make_shared_calls();
// Those behind FD; nullptr: it cannot be mapped.
SharedCalls *map_shared_calls(int fd);

} // namespace ses::run

#endif // SES_RUN_SUPERVISOR_SHARED_CALLS_H
