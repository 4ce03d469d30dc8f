#include "processes/file_events.h"

#include <sys/inotify.h>

#include <cerrno>
#include <string>

#include "processes/proc_files.h"

namespace ses::agent {

FileEvents::FileEvents(uint32_t kinds)
    : kinds_(kinds),
      inotify_(std::make_shared<const UniqueFd>(inotify_init1(IN_CLOEXEC | IN_NONBLOCK))) {}

bool FileEvents::add(int handle, uint64_t placement) {
  const auto facts = facts_of(handle);
  if (!facts) {
    errno = EBADF;
    return false;
  }
  struct Added {
    int watch, error;
  };
  const auto added =
      ask_storage(facts->id.device, [inotify = inotify_, copy = copy_of(handle), kinds = kinds_] {
        const std::string file = "/proc/self/fd/" + std::to_string(copy->get());
        const int watch = inotify_add_watch(inotify->get(), file.c_str(), kinds);
        return Added{watch, errno};
      });
  const auto [watch, error] = added.value_or(Added{-1, ETIMEDOUT});
  if (watch < 0) {
    errno = error;
    return false;
  }
  watch_of_[placement] = watch;
  placements_of_.emplace(watch, placement);
  return true;
}

void FileEvents::remove(uint64_t placement) {
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
    inotify_rm_watch(inotify_->get(), watch);
  }
}

// The kernel has.
void FileEvents::forget(int watch) {
  const auto [first, last] = placements_of_.equal_range(watch);
  for (auto it = first; it != last; ++it) {
    watch_of_.erase(it->second);
  }
  placements_of_.erase(first, last);
}

FileEvents::Happened FileEvents::read_all() {
  Happened happened;
  happened.lost_some =
      read_each([&](uint64_t placement, uint32_t) { happened.placements.insert(placement); });
  return happened;
}

bool FileEvents::read_each(const std::function<void(uint64_t, uint32_t)> &visit) {
  bool lost_some = false;
  alignas(inotify_event) char buffer[16384];
  for (;;) {
    const ssize_t length = read(inotify_->get(), buffer, sizeof buffer);
    if (length <= 0) {
      return lost_some;
    }
    for (const char *at = buffer; at < buffer + length;) {
      const auto *event = reinterpret_cast<const inotify_event *>(at);
      at += sizeof *event + event->len;
      lost_some = lost_some || (event->mask & IN_Q_OVERFLOW) != 0;
      const auto [first, last] = placements_of_.equal_range(event->wd);
      for (auto it = first; it != last; ++it) {
        visit(it->second, event->mask);
      }
      if ((event->mask & IN_IGNORED) != 0) {
        forget(event->wd);
      } else if (first == last) { // made too late: nobody waits for it
        inotify_rm_watch(inotify_->get(), event->wd);
      }
    }
  }
}

} // namespace ses::agent
