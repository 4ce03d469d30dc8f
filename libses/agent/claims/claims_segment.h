// The shared memory segment of one user's claims (ses/claims.h): made, or taken over from an agent
// that was here before.
//
// Used by one thread.  Knows the head and nothing of what is in it.
#ifndef SES_AGENT_CLAIMS_SEGMENT_H
#define SES_AGENT_CLAIMS_SEGMENT_H

#include <sys/types.h>

#include <cstdint>
#include <memory>
#include <string>

#include "ses/claims.h"

namespace ses::agent {

class ClaimsSegment {
public:
  // Another one, of UID.  Null when it cannot be had, with the cause and the next step in WHY.
  [[nodiscard]] static std::unique_ptr<ClaimsSegment> make(uid_t uid, std::string &why);
  // The one an earlier agent of the same user made, as its table says.  Null when that is no such
  // segment (any more); what this agent's user made of it goes.
  [[nodiscard]] static std::unique_ptr<ClaimsSegment> take_over(int id, uid_t uid,
                                                                uint64_t instance);
  // Detaches; the segment itself stays.
  ~ClaimsSegment();
  ClaimsSegment(const ClaimsSegment &) = delete;
  ClaimsSegment &operator=(const ClaimsSegment &) = delete;

  [[nodiscard]] ses_claims &claims() const { return *claims_; }
  [[nodiscard]] int id() const { return id_; }
  // Of which ids are made; what the user writes into the head changes nothing.
  [[nodiscard]] uint64_t instance() const { return instance_; }
  // Somebody removed it, or changed whose it is: no program believes it any more.
  [[nodiscard]] bool is_lost() const;
  // Programs that have it.
  [[nodiscard]] bool has_programs() const;
  // Programs look for another one from now on, and the segment goes with the last that has it.
  void retire();

private:
  // Of the attached segment, whose head is written.
  ClaimsSegment(int id, uid_t uid, uint64_t instance, void *at);

  const int id_;
  const uid_t uid_;
  const uint64_t instance_;
  ses_claims *const claims_;
};

} // namespace ses::agent

#endif // SES_AGENT_CLAIMS_SEGMENT_H
