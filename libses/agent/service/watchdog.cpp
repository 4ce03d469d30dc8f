#include "service/watchdog.h"

#include <spdlog/spdlog.h>
#include <unistd.h>

#include <algorithm>
#include <string>
#include <utility>

namespace ses::agent {
namespace {

constexpr std::chrono::seconds kLookEvery{2};

bool holds(const std::vector<StalledThread> &stalled, const StalledThread &thread) {
  return std::ranges::find(stalled, thread) != stalled.end();
}

} // namespace

std::string words_of(const StalledThread &stalled) {
  return std::string("thread ") + stalled.name + " has stalled for " +
         std::to_string(stalled.since.count()) + " s: " + stalled.work +
         "; see what it waits for: cat /proc/" + std::to_string(getpid()) + "/task/" +
         std::to_string(stalled.thread) + "/stack, and which file system hangs: findmnt";
}

// The log comes last: it may be what hangs.
std::chrono::nanoseconds Watchdog::look() {
  const auto before = std::exchange(stalled_, stalled_threads(Clock::now()));
  if (before == stalled_) {
    return kLookEvery;
  }
  health_.stalled(stalled_);
  on_change_();
  for (const StalledThread &thread : stalled_) {
    if (!holds(before, thread)) {
      spdlog::warn(words_of(thread));
    }
  }
  for (const StalledThread &thread : before) {
    if (!holds(stalled_, thread)) {
      spdlog::info("thread {} goes on", thread.name);
    }
  }
  return kLookEvery;
}

} // namespace ses::agent
