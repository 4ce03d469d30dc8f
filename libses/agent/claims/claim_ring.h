// The claims in a segment (ses/claims.h): read, checked for sense, freed.
//
// Used by one thread, beside any number of programs that write.  Each claim is copied once and then
// looked at; nothing in it is believed, and what is rubbish is dropped.  Reading takes time in
// proportion to what was claimed since, never to what somebody wrote into a counter.
#ifndef SES_AGENT_CLAIM_RING_H
#define SES_AGENT_CLAIM_RING_H

#include <sys/types.h>

#include <array>
#include <chrono>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "processes/proc_files.h"
#include "ses/claims.h"

namespace ses::agent {

// What became of a claim, as its program reports it.
struct Claim {
  uint64_t number = 0;
  unsigned system = 0;
  uint64_t epoch = 0, digest = 0;
  std::vector<uint8_t> rows; // within a table, each once; not necessarily there
  uint32_t first = 0;        // within a table
  uint32_t candidate_limit = 0;
  ses_rank rank{};      // `rank` and `ranks` of it
  ses_core_need need{}; // every number in range
  uint32_t stated = 0;  // of its requirements, the first
  std::array<uint16_t, SES_TABLE_ELEMENTS> seen{};
  FileId file;
  std::optional<FileId> directory;
  bool created = false;
  int error = 0;
  int fd = -1;
  int dirfd = -1;
  pid_t pid = 0;           // 0: none that makes sense
  std::string application; // no control characters
  std::string job;         // of a batch system; empty: not known
  std::string path;        // as the program gave it; empty: not known
};

// None when SHARED, a private copy out of SLOT, makes no sense.  Pure.
[[nodiscard]] std::optional<Claim> parse_claim(const ses_claim &shared, unsigned slot);

class ClaimRing {
public:
  using Time = std::chrono::steady_clock::time_point;

  // Whatever lies there already is read first.
  explicit ClaimRing(ses_claims &claims);

  // Up to MOST claims, rubbish counted.  Less than MOST: there are no more now.
  [[nodiscard]] std::vector<Claim> read(size_t most, Time now);
  // Something may be on its way: a slot is taken and not complete, or was not looked at.
  [[nodiscard]] bool expects_more() const;
  // Of the slots looked at, some are taken and not complete.
  [[nodiscard]] bool has_unfinished() const { return !unfinished_.empty(); }
  // When the last of those was taken, as far as this knows.
  [[nodiscard]] Time unfinished_since() const { return unfinished_since_; }
  // Programs have taken slots since the last read().
  [[nodiscard]] bool was_claimed() const;
  // How many unfinished claims were given up since the last call.
  [[nodiscard]] unsigned take_abandoned() { return std::exchange(abandoned_, 0); }

private:
  enum class Slot { kFree, kUnfinished, kRead };
  [[nodiscard]] Slot read_slot(unsigned slot, Time now, std::vector<Claim> &claims);
  void give_up_on(unsigned slot, uint64_t state, Time now);

  ses_claims &claims_;
  uint64_t next_ = 0;    // number of the next claim
  unsigned touched_ = 0; // slots from here on were never used
  unsigned sweep_ = 0;   // next slot of the look at all of them; touched_: done
  Time swept_at_{};
  bool swept_since_ = true; // nothing was taken after the last look at all of them
  unsigned abandoned_ = 0;
  Time unfinished_since_{};
  struct Taken {
    uint64_t state = 0;
    Time since{};
  };
  std::map<unsigned, Taken> unfinished_; // by slot
};

} // namespace ses::agent

#endif // SES_AGENT_CLAIM_RING_H
