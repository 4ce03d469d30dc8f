// torn SECONDS: an agent writes table and claims while three processes read them as programs do,
// and claim; prints how often each was looked at, and ends with 1 when one saw what never was.
#include <sys/mman.h>
#include <sys/sysmacros.h>
#include <sys/wait.h>
#include <unistd.h>

#include <atomic>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <string>

#include "claims/claim_ring.h"
#include "claims/needs_publisher.h"
#include "ses/sequence.h"
#include "table/table_publisher.h"

extern "C" {
#include "choice/needs.h"
#include "segments/published.h"
#include "segments/slot.h"
}

namespace {

using Clock = std::chrono::steady_clock;
constexpr int kReaders = 3;
constexpr unsigned kRows = 8, kClaims = 1 << 22; // floats count so far
constexpr const char *kApplication = "simulate";

struct Shared {
  ses_table table;
  ses_claims claims;
  std::atomic<bool> ended;
};

[[noreturn]] void fail(const char *what) {
  std::printf("torn: %s\n", what);
  std::fflush(stdout);
  _exit(1);
}

// Everything in it says VALUE.
ses::agent::TablePublisher::System system_of(uint32_t value, float own) {
  ses::agent::TablePublisher::System system;
  system.backend = SES_BACKEND_MERGERFS;
  system.elements.resize(kRows);
  system.places.resize(kRows);
  for (unsigned row = 0; row < kRows; ++row) {
    system.elements[row].free = value;
    system.elements[row].own = own;
    std::snprintf(system.places[row].element, SES_ELEMENT_MAX, "%u/%u", row, value);
  }
  system.sent_ms = system.total = value;
  system.numbers.assign(kRows, value);
  return system;
}

ses::agent::UserNeeds needs_of(uint32_t value) {
  ses::agent::UserNeeds needs;
  for (const char *application : {"other", kApplication}) {
    ses::agent::Need need;
    need.application = application;
    need.digest = value;
    need.core.bytes = need.core.room = value;
    needs.needs.push_back(need);
  }
  return needs;
}

void write(Shared &shared, Clock::time_point until) {
  ses::agent::TablePublisher publisher(shared.table, 1, false);
  ses::agent::NeedsPublisher needs(shared.claims);
  ses::agent::ClaimRing ring(shared.claims);
  unsigned long writings = 0, claims = 0;
  uint32_t counted = 0;
  publisher.write(2, system_of(1, 0));
  for (uint32_t value = 1; Clock::now() < until; ++value, ++writings) {
    publisher.write(1, system_of(value, static_cast<float>(counted)));
    needs.publish(needs_of(value));
    for (unsigned i = 0; i < 20; ++i) {
      const unsigned system = 1 + i % 2; // one entry for both, in turns
      publisher.set_mounts({{makedev(7, system), system, "/" + std::to_string(system)}});
      counted = __atomic_load_n(&shared.claims.claimed[1][0], __ATOMIC_ACQUIRE);
      ses_core_element element{};
      element.own = static_cast<float>(counted);
      publisher.update(1, 0, element);
      __atomic_store_n(&shared.claims.counted[1][0], counted, __ATOMIC_RELEASE);
      for (const ses::agent::Claim &claim : ring.read(1000, Clock::now())) {
        ++claims;
        if (claim.file.inode != claim.number || claim.path != std::to_string(claim.number)) {
          fail("a claim");
        }
      }
    }
  }
  std::printf("%lu writings, %lu claims\n", writings, claims);
}

void look_at_system(const ses_table_system &system) {
  const uint32_t sequence = ses_sequence_of(&system.sequence);
  if (!ses_sequence_is_whole(sequence)) {
    return;
  }
  static ses_table_system copy;
  std::memcpy(static_cast<void *>(&copy), &system, sizeof copy);
  if (!ses_sequence_is_same(&system.sequence, sequence)) {
    return;
  }
  for (unsigned row = 0; row < kRows; ++row) {
    const std::string name = std::to_string(row) + "/" + std::to_string(copy.total);
    if (copy.sent_ms != copy.total || copy.numbers[row] != copy.total ||
        copy.elements[row].free != static_cast<double>(copy.total) ||
        name != copy.places[row].element) {
      fail("a system");
    }
  }
}

void look_at_needs(const ses_claims &claims) {
  ses_core_need need{};
  unsigned entry = 0;
  uint64_t digest = 0;
  const uint64_t application = ses_segment_hash(kApplication);
  if (ses_needs_find(&claims, application, &entry) && entry != 0 &&
      ses_needs_read(&claims, entry, application, &need, &digest) &&
      (need.bytes != static_cast<double>(digest) || need.room != need.bytes)) {
    fail("needs");
  }
}

unsigned long read(Shared &shared) {
  const ses_claims_of of = {&shared.claims, 1, 0};
  unsigned long looks = 0;
  for (; !shared.ended; ++looks) {
    look_at_system(shared.table.systems[1]);
    look_at_needs(shared.claims);
    for (unsigned number = 1; number <= 2; ++number) {
      unsigned mount = 0, system = 0;
      if (ses_table_find(&shared.table, 7, number, &mount, &system) && system != number) {
        fail("a mount");
      }
    }
    const uint32_t counted = __atomic_load_n(&shared.claims.counted[1][0], __ATOMIC_ACQUIRE);
    if (shared.table.systems[1].elements[0].own < static_cast<float>(counted)) {
      fail("claims that were counted");
    }
    ses_slot slot;
    if (counted < kClaims && ses_slot_take(&of, &slot)) {
      const uint64_t number = (slot.state - 1) / 2;
      const std::string path = std::to_string(number);
      __atomic_fetch_add(&shared.claims.claimed[1][0], 1, __ATOMIC_SEQ_CST);
      slot.claim->row_count = 1;
      slot.claim->system = 1;
      ses_slot_describe(&slot, 0, path.c_str(), path.size(), kApplication, 1);
      const ses_slot_end end = {1, number, 1, 1, SES_OUTCOME_CREATED, 0, 3};
      ses_slot_complete(&slot, &end);
    }
  }
  return looks;
}

} // namespace

int main(int argc, char **argv) {
  if (argc != 2) {
    return 2;
  }
  void *const at =
      mmap(nullptr, sizeof(Shared), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
  if (at == MAP_FAILED) {
    return 3;
  }
  auto &shared = *static_cast<Shared *>(at);
  for (int i = 0; i < kReaders; ++i) {
    if (fork() == 0) {
      std::printf("%lu looks\n", read(shared));
      std::fflush(stdout);
      _exit(0);
    }
  }
  write(shared, Clock::now() + std::chrono::seconds(std::atoi(argv[1])));
  shared.ended = true;
  bool torn = false;
  for (int status = 0; wait(&status) > 0;) {
    torn = torn || status != 0;
  }
  return torn ? 1 : 0;
}
