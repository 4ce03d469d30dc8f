// How many claims of each row the programs of one user made, of which no placement is known yet.
//
// Programs add 1 to a counter when they choose, long before they say what they created.  The
// counters are the user's to write: a look at them never counts more claims than there are slots,
// and what is counted is given up as soon as no slot is taken that it could belong to.
//
// Used by one thread.
#ifndef SES_AGENT_CLAIM_COUNTS_H
#define SES_AGENT_CLAIM_COUNTS_H

#include <array>
#include <chrono>
#include <cstdint>
#include <functional>
#include <vector>

#include "ses/claims.h"

namespace ses::agent {

class ClaimCounts {
public:
  using Time = std::chrono::steady_clock::time_point;
  // The number of claims of ROW in SYSTEM has changed by CHANGE.
  using Changed = std::function<void(unsigned system, unsigned row, int change)>;

  // What CLAIMS counts already, counts as seen.
  explicit ClaimCounts(ses_claims &claims);

  // Looks at the first ROWS counters of SYSTEM.
  void look(unsigned system, size_t rows, Time now, const Changed &changed);
  // A claim of ROW has become a placement, or has come to nothing.
  void settle(unsigned system, unsigned row, const Changed &changed);
  // One that stayed unfinished was given up: the row that has waited longest loses one.
  void give_up_one(const Changed &changed);
  // Something is counted, or was settled ahead, that a slot still has to stand for.
  [[nodiscard]] bool any() const { return uneven_ > 0; }
  // No slot is taken: there are no claims.
  void clear(const Changed &changed);
  // Shows the user's programs that their claims have been counted for everybody.  Call after that.
  void acknowledge();

private:
  struct Row {
    uint32_t claimed = 0; // as of the last look
    int open = 0;         // negative: settled before the counter was looked at
    Time since{};         // has been open
  };

  void change(unsigned system, unsigned row, int by, Time now, const Changed &changed);

  ses_claims &claims_;
  std::array<std::array<Row, SES_TABLE_ELEMENTS>, SES_TABLE_SYSTEMS> rows_{};
  std::vector<std::pair<unsigned, unsigned>> looked_at_; // to be acknowledged
  int total_ = 0;
  int uneven_ = 0; // rows that are not at 0
};

} // namespace ses::agent

#endif // SES_AGENT_CLAIM_COUNTS_H
