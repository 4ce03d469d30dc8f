#include "files/followed_processes.h"

#include <sys/epoll.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <utility>

namespace ses::agent {
namespace {

constexpr std::chrono::milliseconds kForgetEvery{1000};
constexpr size_t kMaxIdle =
    8; // the part of what may be watched that processes without files may be

} // namespace

bool add_to(int epoll, int fd, uint64_t data) {
  epoll_event event{};
  event.events = EPOLLIN;
  event.data.u64 = data;
  return epoll_ctl(epoll, EPOLL_CTL_ADD, fd, &event) == 0;
}

bool FollowedProcesses::add(pid_t pid, uint64_t placement) {
  Process &process = processes_[pid];
  process.placements.insert(placement);
  if (!process.pidfd) {
    process.pidfd.reset(static_cast<int>(syscall(SYS_pidfd_open, pid, 0)));
    if (process.pidfd && !add_to(epoll_, process.pidfd.get(), static_cast<uint64_t>(pid))) {
      process.pidfd.reset();
    }
  }
  return static_cast<bool>(process.pidfd);
}

void FollowedProcesses::remove(pid_t pid, uint64_t placement) {
  const auto process = processes_.find(pid);
  if (process == processes_.end()) {
    return;
  }
  process->second.placements.erase(placement);
  if (process->second.placements.empty()) { // it may well have more
    idle_.push_back(pid);
  }
}

bool FollowedProcesses::is_followed(pid_t pid) const {
  const auto process = processes_.find(pid);
  return process != processes_.end() && process->second.pidfd;
}

std::set<uint64_t> FollowedProcesses::take(pid_t pid) {
  auto process = processes_.extract(pid); // its pidfd is closed, which takes it out of the epoll
  return process ? std::move(process.mapped().placements) : std::set<uint64_t>();
}

void FollowedProcesses::forget_idle(Time now) {
  if (idle_.empty() ||
      (now - forgotten_at_ < kForgetEvery && idle_.size() < most_watched_ / kMaxIdle)) {
    return;
  }
  forgotten_at_ = now;
  for (const pid_t pid : std::exchange(idle_, {})) {
    const auto process = processes_.find(pid);
    if (process != processes_.end() && process->second.placements.empty()) {
      processes_.erase(process);
    }
  }
}

} // namespace ses::agent
