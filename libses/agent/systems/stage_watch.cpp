#include "systems/stage_watch.h"

#include <sys/inotify.h>
#include <unistd.h>

#include "node/may_hang.h"

namespace ses::agent {

StageWatch::StageWatch()
    : inotify_(std::make_shared<const UniqueFd>(inotify_init1(IN_CLOEXEC | IN_NONBLOCK))) {}

bool StageWatch::add(int top, dev_t device, const std::string &target) {
  const auto watch = ask_storage(device, [inotify = inotify_, copy = copy_of(top)] {
    const std::string directory = "/proc/self/fd/" + std::to_string(copy->get());
    return inotify_add_watch(inotify->get(), directory.c_str(),
                             IN_MOVE_SELF | IN_DELETE_SELF | IN_ONLYDIR);
  });
  if (!watch || *watch < 0) {
    return true;
  }
  const std::lock_guard lock(mutex_);
  if (moved_first_.erase(*watch) > 0) {
    return false;
  }
  target_of_[*watch] = target;
  return true;
}

std::set<std::string> StageWatch::take() {
  std::set<std::string> moved;
  alignas(inotify_event) char buffer[4096];
  const std::lock_guard lock(mutex_);
  for (ssize_t length = 0; (length = read(inotify_->get(), buffer, sizeof buffer)) > 0;) {
    for (const char *at = buffer; at < buffer + length;) {
      const auto *event = reinterpret_cast<const inotify_event *>(at);
      at += sizeof *event + event->len;
      const auto target = target_of_.find(event->wd);
      if (target == target_of_.end()) {
        if ((event->mask & IN_IGNORED) == 0) {
          moved_first_.insert(event->wd);
        }
        continue;
      }
      moved.insert(target->second);
      if ((event->mask & IN_IGNORED) != 0) { // removed, or its file system is gone
        target_of_.erase(target);
      } else {
        inotify_rm_watch(inotify_->get(), event->wd);
      }
    }
  }
  return moved;
}

} // namespace ses::agent
