// Heartbeats of the threads that serve all users of a node, and which of them have stalled.
//
// A thread is busy while a Turn of it lives; one that waits for work has none, and counts as alive.
// Any thread; a Turn belongs to the one that made it, and a thread has one at a time.
#ifndef SES_AGENT_HEARTBEAT_H
#define SES_AGENT_HEARTBEAT_H

#include <sys/types.h>

#include <chrono>
#include <cstddef>
#include <vector>

namespace ses::agent {

enum class Duty {
  kServer,
  kAnnouncer,
  kHousekeeper,
  kWatcher,
  kFinder,
  kReaders,
  kStager,
  kLustreHealth,
  kUnionHealth,
  kSurvey,
  kPlaces,
};

// One round of work between two waits.  Costs one reading of the clock.
class Turn {
public:
  explicit Turn(Duty duty);
  ~Turn();
  Turn(const Turn &) = delete;
  Turn &operator=(const Turn &) = delete;

private:
  const size_t index_;
};

struct StalledThread {
  const char *name;           // of one word
  const char *work;           // what users miss while it stalls
  pid_t thread;               // as in /proc/PID/task
  std::chrono::seconds since; // its turn began so long ago

  friend bool operator==(const StalledThread &a, const StalledThread &b) {
    return a.name == b.name;
  }
};

// Those whose turn takes longer at NOW than one may take.
[[nodiscard]] std::vector<StalledThread> stalled_threads(std::chrono::steady_clock::time_point now);

} // namespace ses::agent

#endif // SES_AGENT_HEARTBEAT_H
