#include "close_events.h"

#include <sys/inotify.h>

#include <string>

namespace ses::agent {

CloseEvents::CloseEvents() : inotify_(inotify_init1(IN_CLOEXEC | IN_NONBLOCK)) {}

bool CloseEvents::add(int handle, uint64_t placement) {
  const std::string file = "/proc/self/fd/" + std::to_string(handle);
  const int watch =
      inotify_add_watch(inotify_.get(), file.c_str(), IN_CLOSE_WRITE | IN_CLOSE_NOWRITE);
  if (watch < 0) {
    return false;
  }
  watch_of_[placement] = watch;
  placements_of_.emplace(watch, placement);
  return true;
}

void CloseEvents::remove(uint64_t placement) {
  const auto found = watch_of_.find(placement);
  if (found == watch_of_.end()) {
    return;
  }
  const int watch = found->second;
  watch_of_.erase(found);
  const auto [first, last] = placements_of_.equal_range(watch);
  for (auto it = first; it != last; ++it) {
    if (it->second == placement) {
      placements_of_.erase(it);
      break;
    }
  }
  if (!placements_of_.contains(watch)) {
    inotify_rm_watch(inotify_.get(), watch);
  }
}

CloseEvents::Closed CloseEvents::read_all() {
  Closed closed;
  alignas(inotify_event) char buffer[16384];
  for (;;) {
    const ssize_t length = read(inotify_.get(), buffer, sizeof buffer);
    if (length <= 0) {
      return closed;
    }
    for (const char *at = buffer; at < buffer + length;) {
      const auto *event = reinterpret_cast<const inotify_event *>(at);
      at += sizeof *event + event->len;
      closed.lost_some = closed.lost_some || (event->mask & IN_Q_OVERFLOW) != 0;
      const auto [first, last] = placements_of_.equal_range(event->wd);
      for (auto it = first; it != last; ++it) {
        closed.placements.insert(it->second);
      }
    }
  }
}

} // namespace ses::agent
