// Places: directories that the service gave to processes of this node, watched until these end.
//
// Once a second it is looked whether each process lives, and what it and its children moved (at
// most 256 processes).  The space of a directory that was made for a place is added up, as far as
// it has few entries: every second at first, then every ten seconds.  Directories are looked into
// on threads that may be lost.
//
// A process of another PID namespace is not watched: who asked for its place renews it.
#ifndef SES_AGENT_GIVEN_PLACES_H
#define SES_AGENT_GIVEN_PLACES_H

#include <sys/types.h>

#include <chrono>
#include <cstdint>
#include <map>
#include <mutex>
#include <optional>
#include <string>
#include <vector>

#include "announcements/announcer.h"
#include "node/repeating_thread.h"
#include "rates/movement.h"

namespace ses::agent {

class GivenPlaces {
public:
  explicit GivenPlaces(Announcer &announcer);
  void start() { thread_.start(); }
  void stop() { thread_.stop(); }

  // Watches PLACES, and reports them as opened.  Any thread, never waits, as the next.
  void take(std::vector<LedgerFile> places);
  // The service holds these no more.
  void forget(const std::vector<uint64_t> &placements);

private:
  struct Place {
    uid_t uid = 0;
    pid_t pid = 0;
    uint64_t started = 0;
    std::string path;
    bool own_directory = false, is_late = false;
    ProcessBytes before{}; // what its processes had moved at the last look
    Movement movement{};
    std::optional<uint64_t> space{}, most{}; // bytes in the directory, and the most there were
    uint64_t reported = 0;
    Clock::time_point given{}, begun{}, looked_at{}, reported_at{};
  };

  using Places = std::map<uint64_t, Place>; // by placement id

  [[nodiscard]] std::chrono::nanoseconds work();
  Places::iterator end(Places::iterator it, Clock::time_point now);
  void take_over(Clock::time_point now);
  void look(uint64_t placement, Place &place, Clock::time_point now);

  Announcer &announcer_;
  const uint64_t namespace_;
  std::mutex mutex_; // guards the two below
  std::vector<LedgerFile> arrived_;
  std::vector<uint64_t> forgotten_;
  // Of the thread only.
  Clock::time_point names_until_{}; // some names are waited for until then
  Places places_;
  std::vector<AnnouncementBacklog::Ending> ended_; // in this round, as the next
  std::vector<IdleFiles::Grown> grown_;
  RepeatingThread thread_{[this] { return work(); }};
};

} // namespace ses::agent

#endif // SES_AGENT_GIVEN_PLACES_H
