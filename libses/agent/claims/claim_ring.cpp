#include "claims/claim_ring.h"

#include <algorithm>
#include <atomic>
#include <cstring>

#include "processes/jobs.h"
#include "protocol/wire.h"
#include "service/needs.h"

namespace ses::agent {
namespace {

constexpr std::chrono::seconds kSweepEvery{1}; // while slots are claimed
constexpr std::chrono::minutes kSlotUnfinishedFor{3};
constexpr pid_t kMaxPid = 1 << 22;

// In one order with the word that says whether the agent sleeps: see ses/claims.h.
uint64_t load(uint64_t &at) { return std::atomic_ref(at).load(std::memory_order_seq_cst); }

// Empty for what does not end in there: a part of a name is another name.
template <size_t N> std::string text_in(const char (&array)[N]) {
  const size_t length = strnlen(array, N);
  return {array, length < N ? length : 0};
}

double size_of(double shared) { return shared >= 0 && shared <= SES_SIZE_MAX ? shared : -1; }

// What a program's own choice went by is its own business, as long as it can be worked with.
bool read_need(const ses_core_need &shared, ses_core_need &need) {
  need.bytes = size_of(shared.bytes);
  need.room = size_of(shared.room);
  need.stripes = shared.stripes;
  if (shared.count > SES_REQUIREMENTS_MAX) {
    return false;
  }
  for (; need.count < shared.count; ++need.count) {
    const ses_core_requirement &requirement = shared.requirements[need.count];
    if (!is_sensible(requirement)) {
      return false;
    }
    need.requirements[need.count] = requirement;
  }
  return true;
}

bool read_rows(const ses_claim &shared, std::vector<uint8_t> &rows) {
  uint64_t seen = 0;
  for (uint32_t i = 0; i < std::min<uint32_t>(shared.row_count, SES_CLAIMS_STRIPES); ++i) {
    const uint8_t row = shared.rows[i];
    if (row >= SES_TABLE_ELEMENTS || (seen >> row & 1) != 0) {
      return false;
    }
    seen |= uint64_t{1} << row;
    rows.push_back(row);
  }
  return shared.row_count > 0 && shared.row_count <= SES_CLAIMS_STRIPES;
}

} // namespace

std::optional<Claim> parse_claim(const ses_claim &shared, unsigned slot) {
  Claim claim;
  claim.number = (shared.state - 2) / 2;
  claim.created = shared.outcome == SES_OUTCOME_CREATED;
  if ((!claim.created && shared.outcome != SES_OUTCOME_NOT_CREATED) ||
      claim.number % SES_CLAIMS_SLOTS != slot || shared.system >= SES_TABLE_SYSTEMS ||
      shared.path_length >= sizeof shared.path || shared.first >= SES_TABLE_ELEMENTS ||
      (shared.ranks != 0 && shared.rank >= shared.ranks) || !read_rows(shared, claim.rows) ||
      !read_need(shared.need, claim.need)) {
    return std::nullopt;
  }
  claim.system = shared.system;
  claim.epoch = shared.epoch;
  claim.digest = shared.digest;
  claim.stated = shared.stated;
  claim.first = shared.first;
  claim.candidate_limit = shared.candidate_limit;
  claim.rank.rank = shared.rank;
  claim.rank.ranks = shared.ranks;
  std::copy(std::begin(shared.seen), std::end(shared.seen), claim.seen.begin());
  claim.file = {static_cast<dev_t>(shared.device), shared.inode};
  if (shared.directory_device != 0) {
    claim.directory = FileId{static_cast<dev_t>(shared.directory_device), shared.directory_inode};
  }
  claim.error = shared.error;
  claim.fd = shared.fd;
  claim.dirfd = shared.dirfd;
  claim.pid = shared.pid > 0 && shared.pid <= kMaxPid ? shared.pid : 0;
  claim.application = printable(text_in(shared.application));
  claim.job = sensible_job(text_in(shared.job));
  claim.path.assign(shared.path, strnlen(shared.path, shared.path_length));
  return claim;
}

ClaimRing::ClaimRing(ses_claims &claims) : claims_(claims) {
  const uint64_t claimed = load(claims_.head.next);
  next_ = claimed;
  touched_ = static_cast<unsigned>(std::min<uint64_t>(claimed, SES_CLAIMS_SLOTS));
}

// The time between copying and freeing is the program's only if it breaks the rules.
ClaimRing::Slot ClaimRing::read_slot(unsigned slot, Time now, std::vector<Claim> &claims) {
  ses_claim &shared = claims_.claims[slot];
  uint64_t state = load(shared.state);
  if (state == 0) {
    unfinished_.erase(slot);
    return Slot::kFree;
  }
  if (state % 2 != 0) {
    give_up_on(slot, state, now);
    return Slot::kUnfinished;
  }
  ses_claim copy;
  std::memcpy(&copy, &shared, sizeof copy);
  std::atomic_signal_fence(std::memory_order_seq_cst); // no second look at what may have changed
  copy.state = state;
  shared.job[0] = '\0'; // a library of before leaves what is there
  shared.stated = 0;
  std::atomic_ref(shared.state).compare_exchange_strong(state, 0, std::memory_order_acq_rel);
  unfinished_.erase(slot);
  if (auto claim = parse_claim(copy, slot)) {
    claims.push_back(std::move(*claim));
  }
  return Slot::kRead;
}

void ClaimRing::give_up_on(unsigned slot, uint64_t state, Time now) {
  Taken &taken = unfinished_[slot];
  if (taken.state != state) {
    taken = {state, now};
    unfinished_since_ = now;
  } else if (now - taken.since > kSlotUnfinishedFor) {
    uint64_t expected = state;
    std::atomic_ref(claims_.claims[slot].state)
        .compare_exchange_strong(expected, 0, std::memory_order_acq_rel);
    unfinished_.erase(slot);
    ++abandoned_;
  }
}

bool ClaimRing::was_claimed() const { return load(claims_.head.next) != next_; }

bool ClaimRing::expects_more() const {
  return !unfinished_.empty() || sweep_ < touched_ || !swept_since_ || was_claimed();
}

std::vector<Claim> ClaimRing::read(size_t most, Time now) {
  std::vector<Claim> claims;
  size_t read = 0;
  std::vector<unsigned> known;
  for (const auto &[slot, claim] : unfinished_) {
    known.push_back(slot);
  }
  for (const unsigned slot : known) {
    read += read < most && read_slot(slot, now, claims) == Slot::kRead ? 1 : 0;
  }
  const uint64_t claimed = load(claims_.head.next);
  if (claimed != next_) {
    swept_since_ = false;
    touched_ = static_cast<unsigned>(
        std::max<uint64_t>(touched_, std::min<uint64_t>(claimed, SES_CLAIMS_SLOTS)));
  }
  if (claimed - next_ > SES_CLAIMS_SLOTS) { // more than can be: all slots are looked at below
    next_ = claimed;
    sweep_ = 0;
    swept_at_ = now;
  }
  claims.reserve(std::min<size_t>(claimed - next_, most));
  for (; next_ != claimed && read < most; ++next_) {
    read += read_slot(next_ % SES_CLAIMS_SLOTS, now, claims) == Slot::kRead ? 1 : 0;
  }
  if (sweep_ >= touched_ && !swept_since_ && now - swept_at_ >= kSweepEvery) {
    sweep_ = 0;
    swept_at_ = now;
    swept_since_ = claimed == next_;
  }
  for (; sweep_ < touched_ && read < most; ++sweep_) {
    read += read_slot(sweep_, now, claims) == Slot::kRead ? 1 : 0;
  }
  return claims;
}

} // namespace ses::agent
