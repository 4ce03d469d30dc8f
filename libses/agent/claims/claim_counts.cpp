#include "claims/claim_counts.h"

#include <algorithm>
#include <atomic>

namespace ses::agent {
namespace {

constexpr int kMaxSlots = SES_CLAIMS_SLOTS;

uint32_t load(uint32_t &at) { return std::atomic_ref(at).load(std::memory_order_acquire); }

} // namespace

ClaimCounts::ClaimCounts(ses_claims &claims) : claims_(claims) {
  for (unsigned system = 0; system < SES_TABLE_SYSTEMS; ++system) {
    for (unsigned row = 0; row < SES_TABLE_ELEMENTS; ++row) {
      rows_[system][row].claimed = load(claims.claimed[system][row]);
      looked_at_.emplace_back(system, row);
    }
  }
  acknowledge();
}

// What is open counts from 0 up: a claim that was settled early is made up for by its counter.
void ClaimCounts::change(unsigned system, unsigned row, int by, Time now, const Changed &changed) {
  Row &counts = rows_[system][row];
  const int before = std::max(counts.open, 0);
  uneven_ -= counts.open != 0 ? 1 : 0;
  counts.open = std::clamp(counts.open + by, -kMaxSlots, kMaxSlots);
  uneven_ += counts.open != 0 ? 1 : 0;
  const int shown = std::max(counts.open, 0) - before;
  if (before == 0 && shown > 0) {
    counts.since = now;
  }
  total_ += shown;
  if (shown != 0) {
    changed(system, row, shown);
  }
}

void ClaimCounts::look(unsigned system, size_t rows, Time now, const Changed &changed) {
  for (unsigned row = 0; row < std::min<size_t>(rows, SES_TABLE_ELEMENTS); ++row) {
    Row &counts = rows_[system][row];
    const uint32_t claimed = load(claims_.claimed[system][row]);
    if (claimed == counts.claimed) {
      continue;
    }
    const auto difference = static_cast<int32_t>(claimed - counts.claimed);
    counts.claimed = claimed;
    looked_at_.emplace_back(system, row);
    change(system, row, std::clamp(difference, -kMaxSlots, std::max(kMaxSlots - total_, 0)), now,
           changed);
  }
}

void ClaimCounts::settle(unsigned system, unsigned row, const Changed &changed) {
  change(system, row, -1, Time{}, changed);
}

void ClaimCounts::give_up_one(const Changed &changed) {
  Row *oldest = nullptr;
  unsigned system_of_oldest = 0, row_of_oldest = 0;
  for (unsigned system = 0; system < SES_TABLE_SYSTEMS; ++system) {
    for (unsigned row = 0; row < SES_TABLE_ELEMENTS; ++row) {
      Row &counts = rows_[system][row];
      if (counts.open > 0 && (oldest == nullptr || counts.since < oldest->since)) {
        oldest = &counts;
        system_of_oldest = system;
        row_of_oldest = row;
      }
    }
  }
  if (oldest != nullptr) {
    change(system_of_oldest, row_of_oldest, -1, oldest->since, changed);
  }
}

void ClaimCounts::clear(const Changed &changed) {
  for (unsigned system = 0; system < SES_TABLE_SYSTEMS; ++system) {
    for (unsigned row = 0; row < SES_TABLE_ELEMENTS; ++row) {
      if (rows_[system][row].open != 0) {
        change(system, row, -rows_[system][row].open, Time{}, changed);
      }
    }
  }
}

void ClaimCounts::acknowledge() {
  for (const auto &[system, row] : looked_at_) {
    std::atomic_ref(claims_.counted[system][row])
        .store(rows_[system][row].claimed, std::memory_order_release);
  }
  looked_at_.clear();
}

} // namespace ses::agent
