// The segment of a user's claims, which any program of that user may write while it is read.  The
// input is a list of changes: two bytes say where, eight what, the next byte whether it is read
// then.
#include <cstring>
#include <memory>
#include <set>

#include "claims/claim_ring.h"
#include "must.h"
#include "ses/limits.h"

using namespace ses::agent;

namespace {

constexpr size_t kSlots = 8; // those that are written; one change reaches all of such a claim

void check(const Claim &claim) {
  MUST(claim.system < SES_TABLE_SYSTEMS && claim.first < SES_TABLE_ELEMENTS);
  MUST(!claim.rows.empty() && claim.rows.size() <= SES_CLAIMS_STRIPES);
  MUST(std::set<uint8_t>(claim.rows.begin(), claim.rows.end()).size() == claim.rows.size());
  for (const uint8_t row : claim.rows) {
    MUST(row < SES_TABLE_ELEMENTS);
  }
  MUST(claim.rank.ranks == 0 || claim.rank.rank < claim.rank.ranks);
  MUST(claim.need.count <= SES_REQUIREMENTS_MAX);
  for (uint32_t i = 0; i < claim.need.count; ++i) {
    const ses_core_requirement &requirement = claim.need.requirements[i];
    MUST(requirement.bound >= 0 && requirement.bound <= SES_BOUND_MAX); // a NaN is neither
    MUST(requirement.weight > 0 && requirement.weight <= SES_WEIGHT_MAX);
  }
  for (const char c : claim.application + claim.job) {
    MUST(static_cast<unsigned char>(c) >= 0x20 && c != 0x7f);
  }
  MUST(claim.path.size() < sizeof ses_claim::path && claim.pid >= 0);
}

} // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
  static const std::unique_ptr<ses_claims> claims = std::make_unique<ses_claims>();
  std::memset(static_cast<void *>(&claims->head), 0, sizeof claims->head);
  std::memset(static_cast<void *>(claims->claims), 0, kSlots * sizeof(ses_claim));
  ClaimRing ring(*claims);
  if (size >= sizeof(ses_claim)) { // a whole claim first: most fields make sense together
    std::memcpy(static_cast<void *>(claims->claims), data, sizeof(ses_claim));
    claims->head.next = 1;
    data += sizeof(ses_claim);
    size -= sizeof(ses_claim);
  }
  auto now = ClaimRing::Time{} + std::chrono::hours(1);
  char *const shared = reinterpret_cast<char *>(claims->claims);
  for (unsigned turn = 0; turn < 200; ++turn) {
    const bool ends = size < 11;
    if (!ends) {
      uint16_t at = 0;
      std::memcpy(&at, data, 2);
      if (at == UINT16_MAX) {
        std::memcpy(&claims->head.next, data + 2, 8);
      } else {
        std::memcpy(shared + (size_t{at} * 8) % (kSlots * sizeof(ses_claim) - 8), data + 2, 8);
      }
    }
    if (ends || (data[10] & 1) != 0) {
      const size_t most = ends ? SES_CLAIMS_SLOTS : data[10];
      const auto taken = ring.read(most, now);
      MUST(taken.size() <= most);
      for (const Claim &claim : taken) {
        check(claim);
      }
      (void)ring.expects_more();
      now += std::chrono::seconds(ends ? 200 : data[10]);
    }
    if (ends) {
      break;
    }
    data += 11;
    size -= 11;
  }
  (void)ring.take_abandoned();
  return 0;
}
