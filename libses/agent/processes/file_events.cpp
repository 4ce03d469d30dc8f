#include "processes/file_events.h"

#include <sys/inotify.h>

#include <algorithm>
#include <cerrno>
#include <string>

#include "processes/proc_files.h"

namespace ses::agent {
namespace {

constexpr size_t kMaxAtOnce = 256; // descriptors more, while its file system is asked

} // namespace

FileEvents::FileEvents(uint32_t kinds)
    : kinds_(kinds),
      inotify_(std::make_shared<const UniqueFd>(inotify_init1(IN_CLOEXEC | IN_NONBLOCK))) {}

// One question to each file system, however many files: a thread to ask with has its price.
std::map<uint64_t, int> FileEvents::add(const std::vector<Wanted> &wanted) {
  std::map<uint64_t, int> failed;
  std::map<dev_t, std::vector<Wanted>> of_device;
  for (const Wanted &file : wanted) {
    if (const auto facts = facts_of(file.handle)) {
      of_device[facts->id.device].push_back(file);
    } else {
      failed.emplace(file.placement, EBADF);
    }
  }
  for (const auto &[device, all] : of_device) {
    for (size_t from = 0; from < all.size(); from += kMaxAtOnce) {
      add_some(device, std::span(all).subspan(from, std::min(kMaxAtOnce, all.size() - from)),
               failed);
    }
  }
  return failed;
}

void FileEvents::add_some(dev_t device, std::span<const Wanted> wanted,
                          std::map<uint64_t, int> &failed) {
  std::vector<std::shared_ptr<const UniqueFd>> files; // outlive this call where it is not answered
  for (const Wanted &file : wanted) {
    files.push_back(copy_of(file.handle));
  }
  struct Added {
    int watch, error;
  };
  const auto added =
      ask_storage(device, [inotify = inotify_, files = std::move(files), kinds = kinds_] {
        std::vector<Added> answers;
        for (const auto &file : files) {
          const std::string path = "/proc/self/fd/" + std::to_string(file->get());
          const int watch = inotify_add_watch(inotify->get(), path.c_str(), kinds);
          answers.push_back({watch, errno});
        }
        return answers;
      });
  for (size_t at = 0; at < wanted.size(); ++at) {
    const uint64_t placement = wanted[at].placement;
    const auto [watch, error] = added ? (*added)[at] : Added{-1, ETIMEDOUT};
    if (watch < 0) {
      failed.emplace(placement, error);
    } else {
      watch_of_[placement] = watch;
      placements_of_.emplace(watch, placement);
    }
  }
}

void FileEvents::remove(uint64_t placement) {
  const auto watched = watch_of_.find(placement);
  if (watched == watch_of_.end()) {
    return;
  }
  const int watch = watched->second;
  watch_of_.erase(watched);
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
