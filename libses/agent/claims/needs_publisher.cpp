#include "claims/needs_publisher.h"

#include <atomic>
#include <vector>

#include "ses/sequence.h"

namespace ses::agent {
namespace {

constexpr uint64_t kNobody = 0; // no name has this hash

} // namespace

NeedsPublisher::NeedsPublisher(ses_claims &claims) : claims_(claims) {
  for (unsigned number = 0; number < SES_CLAIMS_NEEDS; ++number) {
    entries_[number].sequence = ses_sequence_of(&claims.needs[number].sequence);
    if (entries_[number].sequence == 0) {
      break;
    }
    entries_[number].application = 1; // unlike any: to be written
  }
}

void NeedsPublisher::write(unsigned number, uint64_t application, const Need &need) {
  Entry &entry = entries_[number];
  if (entry.sequence != 0 && entry.application == application && entry.digest == need.digest) {
    return;
  }
  ses_claims_need &shared = claims_.needs[number];
  ses_sequence_begin(&shared.sequence, entry.sequence);
  shared.application_hash = application;
  shared.digest = need.digest;
  shared.need = need.core;
  entry = {ses_sequence_end(&shared.sequence, entry.sequence), application, need.digest};
  std::atomic_ref(claims_.head.generation).fetch_add(1, std::memory_order_acq_rel);
}

void NeedsPublisher::publish(const UserNeeds &needs) {
  static const Need nothing = [] {
    Need need;
    need.digest = 1;
    need.core.bytes = need.core.room = -1;
    return need;
  }();
  const Need *general = needs.of("");
  write(0, kNobody, general != nullptr ? *general : nothing);
  unsigned number = 1;
  for (const Need &need : needs.needs) {
    if (!need.application.empty() && number < SES_CLAIMS_NEEDS) {
      write(number++, ses_segment_hash(need.application.c_str()), need);
    }
  }
  for (; number < SES_CLAIMS_NEEDS && entries_[number].sequence != 0; ++number) {
    write(number, kNobody, nothing);
  }
}

} // namespace ses::agent
