// Writes what a user's files need into the user's segment (ses/claims.h).
//
// Used by one thread, beside any number of programs that read.  What the user writes there itself
// stays until the entry changes for another reason.
#ifndef SES_AGENT_NEEDS_PUBLISHER_H
#define SES_AGENT_NEEDS_PUBLISHER_H

#include <array>
#include <cstdint>

#include "service/needs.h"
#include "ses/claims.h"

namespace ses::agent {

class NeedsPublisher {
public:
  // Entries an earlier agent left stay without effect until publish().
  explicit NeedsPublisher(ses_claims &claims);

  // Exactly these, the default one first; those beyond SES_CLAIMS_NEEDS are left out: their
  // programs find the default.
  void publish(const UserNeeds &needs);

private:
  struct Entry {
    uint32_t sequence = 0; // 0: never used
    uint64_t application = 0, digest = 0;
  };

  void write(unsigned number, uint64_t application, const Need &need);

  ses_claims &claims_;
  std::array<Entry, SES_CLAIMS_NEEDS> entries_{};
};

} // namespace ses::agent

#endif // SES_AGENT_NEEDS_PUBLISHER_H
