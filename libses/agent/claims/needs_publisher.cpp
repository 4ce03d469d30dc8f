#include "claims/needs_publisher.h"

#include <atomic>
#include <vector>

namespace ses::agent {
namespace {

constexpr uint64_t kNobody = 0; // no name has this hash

uint32_t next_even(uint32_t sequence) {
  const uint32_t next = (sequence | 1) + 1;
  return next == 0 ? 2 : next;
}

} // namespace

NeedsPublisher::NeedsPublisher(ses_claims &claims) : claims_(claims) {
  for (unsigned number = 0; number < SES_CLAIMS_NEEDS; ++number) {
    entries_[number].sequence =
        std::atomic_ref(claims.needs[number].sequence).load(std::memory_order_acquire);
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
  std::atomic_ref(shared.sequence).store(entry.sequence | 1, std::memory_order_release);
  std::atomic_thread_fence(std::memory_order_seq_cst);
  shared.application_hash = application;
  shared.digest = need.digest;
  shared.need = need.core;
  entry = {next_even(entry.sequence), application, need.digest};
  std::atomic_ref(shared.sequence).store(entry.sequence, std::memory_order_release);
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
      write(number++, ses_table_hash(need.application.c_str()), need);
    }
  }
  for (; number < SES_CLAIMS_NEEDS && entries_[number].sequence != 0; ++number) {
    write(number, kNobody, nothing);
  }
}

} // namespace ses::agent
