#include "node/heartbeat.h"

#include <unistd.h>

#include <atomic>
#include <iterator>

namespace ses::agent {
namespace {

using std::chrono::steady_clock;

struct Described {
  const char *name;
  const char *work;
  std::chrono::seconds longest; // turn
};

// In the order of Duty.  A turn that asks the service may last for several of its time-outs.
constexpr Described kDuties[] = {
    {"server", "programs are not answered, and their tables grow old", std::chrono::seconds(10)},
    {"announcer", "the service does not learn which files are open here", std::chrono::seconds(30)},
    {"housekeeper",
     "storage systems and branches that are new stay unknown, and leftovers in "
     "staging directories stay",
     std::chrono::seconds(30)},
    {"watcher", "files that were closed still count as open", std::chrono::seconds(10)},
    {"finder", "files that programs create are not followed", std::chrono::seconds(10)},
    {"readers", "the load of files that are read is not known", std::chrono::seconds(10)},
    {"stager", "users who are new here get no staging directories, and no placement in unions",
     std::chrono::seconds(10)},
    {"lustre-health", "OSTs that fail, or work again, are not noticed", std::chrono::seconds(10)},
    {"union-health", "branches that fail, or work again, are not noticed",
     std::chrono::seconds(10)},
    {"survey", "users whose first process or job comes here are not prepared for",
     std::chrono::seconds(10)},
    {"places", "places of processes that end here still count", std::chrono::seconds(30)},
};
static_assert(std::size(kDuties) == static_cast<size_t>(Duty::kPlaces) + 1);

struct Heartbeat {
  std::atomic<steady_clock::rep> busy_since{0}; // 0: idle
  std::atomic<pid_t> thread{0};
};

Heartbeat heartbeats[std::size(kDuties)];

} // namespace

Turn::Turn(Duty duty) : index_(static_cast<size_t>(duty)) {
  static thread_local const pid_t thread = gettid();
  heartbeats[index_].thread.store(thread, std::memory_order_relaxed);
  heartbeats[index_].busy_since.store(steady_clock::now().time_since_epoch().count(),
                                      std::memory_order_release);
}

Turn::~Turn() { heartbeats[index_].busy_since.store(0, std::memory_order_release); }

std::vector<StalledThread> stalled_threads(steady_clock::time_point now) {
  std::vector<StalledThread> stalled;
  for (size_t index = 0; index < std::size(kDuties); ++index) {
    const auto &[name, work, longest] = kDuties[index];
    const auto since = heartbeats[index].busy_since.load(std::memory_order_acquire);
    const auto taken = now.time_since_epoch() - steady_clock::duration(since);
    if (since != 0 && taken > longest) {
      stalled.push_back({name, work, heartbeats[index].thread.load(std::memory_order_relaxed),
                         std::chrono::duration_cast<std::chrono::seconds>(taken)});
    }
  }
  return stalled;
}

} // namespace ses::agent
