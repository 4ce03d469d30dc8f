#include "worker.h"

#include <poll.h>
#include <sched.h>

#include <cerrno>
#include <chrono>
#include <cstring>
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
  for (Slot &slot : calls.slots) {
    std::thread(serve, std::cref(listener), std::cref(creator), std::ref(calls), std::ref(slot))
        .detach();
  }
  Descriptor watchdog(starter);
  while (!is_over()) {
    pollfd watched[] = {{kListener, 0, 0}, {watchdog.get(), POLLIN, 0}};
    if (poll(watched, 2, -1) > 0 && watched[1].revents != 0 && !is_over()) {
      watchdog = start_peer("watchdog");
    }
    if (!watchdog) { // the kernel gave no process: retry soon
      std::this_thread::sleep_for(std::chrono::milliseconds(100));
      watchdog = start_peer("watchdog");
    }
  }
  _exit(0); // threads may wait in the kernel for calls that never come
}

} // namespace ses::run
