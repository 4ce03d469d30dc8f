#include "worker.h"

#include <poll.h>
#include <sched.h>

#include <cerrno>
#include <cstring>
#include <system_error>
#include <thread>

#include "creation.h"
#include "listener.h"
#include "peer_process.h"

namespace ses::run {
namespace {

void serve(const Listener &listener, const Creator &creator, SharedCalls &calls, Slot &slot) {
  unshare(CLONE_FS); // an umask of its own
  while (true) {
    std::memset(slot.room, 0, sizeof slot.room);
    slot.state = 0;
    if (!listener.receive(&slot.call)) {
      if (errno == EINTR || errno == ENOENT) { // ENOENT: it was interrupted, or all have ended
        if (is_over()) {
          return;
        }
        continue;
      }
      return;
    }
    ++calls.received;
    creator.answer(slot);
  }
}

} // namespace

int work(SharedCalls &calls, int starter) {
  const Listener listener(kListener);
  listener.wake_nearby();
  const Creator creator(listener, calls);
  try {
    for (Slot &slot : calls.slots) {
      std::thread(serve, std::cref(listener), std::cref(creator), std::ref(calls), std::ref(slot))
          .detach();
    }
  } catch (const std::system_error &) { // the program's limits let no more be started
  }
  Peer watchdog("watchdog", starter);
  while (!is_over()) {
    pollfd watched[] = {{kListener, 0, 0}, {watchdog.pidfd(), POLLIN, 0}};
    if (poll(watched, 2, watchdog ? -1 : kRetryMs) > 0 && watched[1].revents != 0) {
      watchdog.has_died();
    }
    if (!is_over()) {
      watchdog.keep();
    }
  }
  _exit(0); // threads may wait in the kernel for calls that never come
}

} // namespace ses::run
