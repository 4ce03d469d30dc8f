#include "watchdog.h"

#include <poll.h>
#include <signal.h>
#include <sys/syscall.h>
#include <sys/time.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>

#include "creation.h"
#include "listener.h"
#include "peer_process.h"

extern "C" {
#include "settings/settings.h"
}

namespace ses::run {
namespace {

constexpr int kMinTimeoutMs = 2;

// -1: there is no such PROCESS.
int pidfd_of(int process) {
  return process > 0 ? static_cast<int>(syscall(SYS_pidfd_open, process, 0)) : -1;
}

class Watchdog {
public:
  Watchdog(SharedCalls &calls, int worker)
      : calls_(calls), listener_(kListener), creator_(listener_, calls), worker_("worker", worker),
        standby_("standby", pidfd_of(calls.standby)),
        timeout_ms_(std::max(kMinTimeoutMs, static_cast<int>(ses_settings()->sync_ms))) {}

  int watch();

private:
  void answer(Slot &slot) const;
  void replace_worker();
  bool has_paused();
  void look_after_calls();
  bool take_waiting();
  bool take_stuck();
  [[nodiscard]] bool is_call_waiting() const;

  SharedCalls &calls_;
  const Listener listener_;
  const Creator creator_;
  Peer worker_;
  Peer standby_;
  const int timeout_ms_;
  uint64_t received_ = 0;      // of the calls, when the pause began
  uint64_t in_work_[kSlots]{}; // calls in work when the pause began
};

bool Watchdog::is_call_waiting() const {
  pollfd listener = {kListener, POLLIN, 0};
  return poll(&listener, 1, 0) > 0 && (listener.revents & POLLIN) != 0;
}

// Answers the call in SLOT that a dead process had taken, and frees SLOT.
void Watchdog::answer(Slot &slot) const {
  creator_.finish(slot);
  std::memset(slot.room, 0, sizeof slot.room);
  slot.state = 0;
}

// The calls that the dead worker had taken are answered first: their callers wait.
void Watchdog::replace_worker() {
  for (Slot &slot : calls_.slots) {
    answer(slot);
  }
  worker_.has_died();
  worker_.keep();
}

// Takes the calls that the worker has not taken in time: it is stuck, or there is none.  Receiving
// waits when another process was faster, so a timer ends it.
bool Watchdog::take_waiting() {
  Slot &slot = calls_.watchdog_slot;
  const itimerval every = {{0, 5000}, {0, 5000}};
  const itimerval never = {};
  bool any = false;
  setitimer(ITIMER_REAL, &every, nullptr);
  while (is_call_waiting() && (!worker_ || calls_.received == received_)) {
    if (listener_.receive(&slot.call)) {
      answer(slot);
      any = true;
    }
  }
  setitimer(ITIMER_REAL, &never, nullptr);
  return any;
}

// Lets the calls go on that were in work when the pause began and have no file since.  True: calls
// are in work.
bool Watchdog::take_stuck() {
  bool any = false;
  for (unsigned i = 0; i < kSlots; ++i) {
    Slot &slot = calls_.slots[i];
    const uint64_t id = id_in(slot);
    if (id != 0 && id == in_work_[i] && abandon(slot, id)) {
      creator_.leave(slot, id);
    }
    in_work_[i] = id;
    any = any || id != 0;
  }
  return any;
}

// False: the worker or the standby has died meanwhile, or all is over.
bool Watchdog::has_paused() {
  for (int left = timeout_ms_; left > 0;) {
    const int part = standby_ ? left : std::min(left, kRetryMs);
    pollfd watched[] = {
        {kListener, 0, 0}, {worker_.pidfd(), POLLIN, 0}, {standby_.pidfd(), POLLIN, 0}};
    if (poll(watched, 3, part) != 0) {
      return false;
    }
    left -= part;
    standby_.keep();
  }
  return true;
}

// One pause after the other, as long as there is something to look after.
void Watchdog::look_after_calls() {
  for (bool busy = true; busy;) {
    received_ = calls_.received;
    if (!has_paused()) {
      return;
    }
    const bool stuck = is_call_waiting() && calls_.received == received_;
    const bool taken = stuck && take_waiting();
    busy = take_stuck() || taken || is_call_waiting();
  }
}

int Watchdog::watch() {
  answer(calls_.watchdog_slot);
  if (!worker_) { // this is the first watchdog, or the worker died with the one before
    replace_worker();
  }
  standby_.keep();
  while (!is_over()) {
    // POLLOUT: a call that somebody has taken and not answered.  POLLIN alone is gone before it is
    // seen where the worker was faster, and nobody would look after a worker that then stops.
    pollfd watched[] = {{kListener, POLLIN | POLLOUT, 0},
                        {worker_.pidfd(), POLLIN, 0},
                        {standby_.pidfd(), POLLIN, 0}};
    if (poll(watched, 3, worker_ && standby_ ? -1 : kRetryMs) < 0) {
      continue;
    }
    if (is_over()) {
      break;
    }
    if (watched[2].revents != 0) {
      standby_.has_died();
    }
    standby_.keep();
    if (!worker_) {
      take_waiting();
      worker_.keep();
    } else if (watched[1].revents != 0) {
      replace_worker();
    } else {
      look_after_calls();
    }
  }
  return 0;
}

} // namespace

int watch(SharedCalls &calls, int worker) { return Watchdog(calls, worker).watch(); }

} // namespace ses::run
