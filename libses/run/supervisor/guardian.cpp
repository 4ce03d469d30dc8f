#include "guardian.h"

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
#include "partner.h"

extern "C" {
#include "settings/settings.h"
}

namespace ses::run {
namespace {

constexpr int kMinPatienceMs = 2;
constexpr int kRetryMs = 100; // starting a worker or a keeper

class Guardian {
public:
  Guardian(SharedCalls &calls, int worker)
      : calls_(calls), listener_(kListener), creator_(listener_, calls), worker_(worker),
        patience_ms_(std::max(kMinPatienceMs, static_cast<int>(ses_settings()->sync_ms))) {
    if (const int keeper = calls.keeper; keeper > 0) {
      keeper_ = Descriptor(static_cast<int>(syscall(SYS_pidfd_open, keeper, 0)));
    }
  }

  int guard();

private:
  void answer(Slot &slot) const;
  void replace_worker();
  void look_after_keeper(bool has_died);
  void look_after_calls();
  bool take_waiting();
  bool take_stuck();
  [[nodiscard]] bool is_call_waiting() const;

  SharedCalls &calls_;
  const Listener listener_;
  const Creator creator_;
  Descriptor worker_;
  Descriptor keeper_;
  const int patience_ms_;
  uint64_t received_ = 0;      // of the calls, when the pause began
  uint64_t in_work_[kSlots]{}; // calls in work when the pause began
};

bool Guardian::is_call_waiting() const {
  pollfd listener = {kListener, POLLIN, 0};
  return poll(&listener, 1, 0) > 0 && (listener.revents & POLLIN) != 0;
}

// What somebody dead had taken; SLOT is free then.
void Guardian::answer(Slot &slot) const {
  creator_.finish(slot);
  std::memset(slot.room, 0, sizeof slot.room);
  slot.state = 0;
}

// What the dead one had taken is answered first: its callers wait.
void Guardian::replace_worker() {
  for (Slot &slot : calls_.slots) {
    answer(slot);
  }
  worker_ = start_partner("worker");
}

void Guardian::look_after_keeper(bool has_died) {
  if (has_died || !keeper_) {
    keeper_ = start_partner("keeper");
  }
}

// Calls nobody takes, although the worker has had time for it: it is stuck, or there is none.
// Receiving waits when somebody else was faster, so a timer ends it.
bool Guardian::take_waiting() {
  Slot &slot = calls_.guardians;
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

// Calls that were in work when the pause began and have not come as far as a file since.
// True: some are in work.
bool Guardian::take_stuck() {
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

// One pause after the other, as long as there is something to look after.
void Guardian::look_after_calls() {
  for (bool busy = true; busy;) {
    received_ = calls_.received;
    pollfd watched[] = {{kListener, 0, 0}, {worker_.get(), POLLIN, 0}, {keeper_.get(), POLLIN, 0}};
    if (poll(watched, 3, patience_ms_) != 0) {
      return; // the worker or the keeper has died, or all is over
    }
    const bool stuck = is_call_waiting() && calls_.received == received_;
    const bool taken = stuck && take_waiting();
    busy = take_stuck() || taken || is_call_waiting();
  }
}

int Guardian::guard() {
  answer(calls_.guardians);
  if (!worker_) { // the first one, or the last of those before
    replace_worker();
  }
  look_after_keeper(false);
  while (!is_over()) {
    // POLLOUT: a call that somebody has taken and not answered.  POLLIN alone is gone before it is
    // seen where the worker was faster, and nobody would look after a worker that then stops.
    pollfd watched[] = {
        {kListener, POLLIN | POLLOUT, 0}, {worker_.get(), POLLIN, 0}, {keeper_.get(), POLLIN, 0}};
    if (poll(watched, 3, worker_ && keeper_ ? -1 : kRetryMs) < 0) {
      continue;
    }
    if (is_over()) {
      break;
    }
    look_after_keeper(watched[2].revents != 0);
    if (!worker_) {
      take_waiting();
      worker_ = start_partner("worker");
    } else if (watched[1].revents != 0) {
      replace_worker();
    } else {
      look_after_calls();
    }
  }
  return 0;
}

} // namespace

int guard(SharedCalls &calls, int worker) { return Guardian(calls, worker).guard(); }

} // namespace ses::run
