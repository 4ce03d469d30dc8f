#include "systems/stage_watch.h"

#include <sys/inotify.h>
#include <unistd.h>

namespace ses::agent {

StageWatch::StageWatch() : inotify_(inotify_init1(IN_CLOEXEC | IN_NONBLOCK)) {}

void StageWatch::add(int top, const std::string &target) {
  const std::string directory = "/proc/self/fd/" + std::to_string(top);
  const std::lock_guard lock(mutex_);
  const int watch = inotify_add_watch(inotify_.get(), directory.c_str(),
                                      IN_MOVE_SELF | IN_DELETE_SELF | IN_ONLYDIR);
  if (watch >= 0) {
    target_of_[watch] = target;
  }
}

std::set<std::string> StageWatch::take() {
  std::set<std::string> moved;
  alignas(inotify_event) char buffer[4096];
  const std::lock_guard lock(mutex_);
  for (ssize_t length = 0; (length = read(inotify_.get(), buffer, sizeof buffer)) > 0;) {
    for (const char *at = buffer; at < buffer + length;) {
      const auto *event = reinterpret_cast<const inotify_event *>(at);
      at += sizeof *event + event->len;
      const auto found = target_of_.find(event->wd);
      if (found == target_of_.end()) {
        continue;
      }
      moved.insert(found->second);
      if ((event->mask & IN_IGNORED) != 0) { // removed, or its file system is gone
        target_of_.erase(found);
      } else {
        inotify_rm_watch(inotify_.get(), event->wd);
      }
    }
  }
  return moved;
}

} // namespace ses::agent
