// The reports in a plan (ses/plan.h): read, checked for sense, freed.
//
// Used by one thread, beside any number of programs that write.  Each report is copied once and
// then looked at; nothing in it is believed, and what is rubbish is dropped.  Reading takes time in
// proportion to what was written since, never to what somebody wrote into a counter.
#ifndef SES_AGENT_PLAN_RING_H
#define SES_AGENT_PLAN_RING_H

#include <sys/types.h>

#include <chrono>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "proc_files.h"
#include "ses/plan.h"

namespace ses::agent {

// What a program says became of a ticket.
struct PlanReport {
  uint64_t placement_id = 0;
  FileId file;
  std::optional<FileId> directory;
  bool created = false;
  int error = 0;
  int fd = -1;
  int dirfd = -1;
  pid_t pid = 0;           // 0: none that makes sense
  std::string application; // no control characters
  std::string path;        // as the program gave it; empty: not known
};

// None when SHARED, a private copy, makes no sense.  Pure.
[[nodiscard]] std::optional<PlanReport> parse_plan_report(const ses_plan_report &shared);

class PlanRing {
public:
  using Time = std::chrono::steady_clock::time_point;

  // Whatever lies there already is read first.
  explicit PlanRing(ses_plan &plan);

  // Up to MOST reports, rubbish counted.  Less than MOST: there are no more now.
  [[nodiscard]] std::vector<PlanReport> read(size_t most, Time now);
  // Something may be on its way: a slot is claimed and not complete, or was not looked at.
  [[nodiscard]] bool expects_more() const;
  // Of the slots looked at, some are claimed and not complete.
  [[nodiscard]] bool has_unfinished() const { return !unfinished_.empty(); }
  // Programs have claimed slots since the last read().
  [[nodiscard]] bool was_claimed() const;

private:
  enum class Slot { kFree, kUnfinished, kRead };
  [[nodiscard]] Slot read_slot(unsigned slot, Time now, std::vector<PlanReport> &reports);
  void give_up_on(unsigned slot, uint64_t state, Time now);

  ses_plan &plan_;
  uint64_t next_ = 0;    // number of the next claim
  unsigned touched_ = 0; // slots from here on were never used
  unsigned sweep_ = 0;   // next slot of the look at all of them; touched_: done
  Time swept_at_{};
  bool swept_since_ = true; // nothing was claimed after the last look at all of them
  struct Claim {
    uint64_t state = 0;
    Time since{};
  };
  std::map<unsigned, Claim> unfinished_; // by slot
};

} // namespace ses::agent

#endif // SES_AGENT_PLAN_RING_H
