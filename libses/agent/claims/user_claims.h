// The claims of one user: the segment, what is counted and read out of it, and on which branches
// the user's files can be staged.
//
// Used by one thread.
#ifndef SES_AGENT_USER_CLAIMS_H
#define SES_AGENT_USER_CLAIMS_H

#include <sys/types.h>

#include <atomic>
#include <memory>

#include "claims/claim_counts.h"
#include "claims/claim_ring.h"
#include "claims/claims_segment.h"
#include "claims/needs_publisher.h"

namespace ses::agent {

class UserClaims {
public:
  UserClaims(uid_t uid, std::unique_ptr<ClaimsSegment> segment)
      : uid_(uid), segment_(std::move(segment)), ring_(segment_->claims()),
        counts_(segment_->claims()), needs_publisher_(segment_->claims()) {}

  [[nodiscard]] uid_t uid() const { return uid_; }
  [[nodiscard]] ClaimsSegment &segment() { return *segment_; }
  [[nodiscard]] ClaimRing &ring() { return ring_; }
  [[nodiscard]] ClaimCounts &counts() { return counts_; }
  [[nodiscard]] NeedsPublisher &needs_publisher() { return needs_publisher_; }

  // The rows of SYSTEM on which files can be staged.
  void set_staged(unsigned system, uint64_t rows) {
    std::atomic_ref(segment_->claims().head.staged[system]).store(rows, std::memory_order_release);
  }

private:
  const uid_t uid_;
  const std::unique_ptr<ClaimsSegment> segment_;
  ClaimRing ring_;
  ClaimCounts counts_;
  NeedsPublisher needs_publisher_;
};

} // namespace ses::agent

#endif // SES_AGENT_USER_CLAIMS_H
