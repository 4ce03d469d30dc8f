// Checks of the plan's parts that need no agent, in ordinary memory:
//
//     plan_parts race           threads take tickets while one fills and withdraws
//     plan_parts rubbish SEED   everything in the plan is overwritten at random, again and again
//     plan_parts demand         "T TAKEN MISSED" lines (ms) from stdin; prints the level after each
//     plan_parts entries        which entries: see main()
//
// Ends with status 0 when what was promised held; built with sanitizers.
#include <atomic>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <iostream>
#include <memory>
#include <random>
#include <thread>
#include <vector>

#include "plan_board.h"
#include "plan_demand.h"
#include "plan_entries.h"
#include "plan_ring.h"

namespace {

using namespace ses::agent;

constexpr dev_t kDevice = 0x801;
constexpr unsigned kTakers = 3;
constexpr uint64_t kTickets = 60000;

[[noreturn]] void fail(const char *why) {
  std::fprintf(stderr, "plan_parts: %s\n", why);
  std::exit(1);
}

Placement placement_of(uint64_t id) {
  Placement placement;
  placement.id = id;
  placement.backend = SES_BACKEND_MERGERFS;
  placement.element = "union/b" + std::to_string(id % 700); // more than the table holds
  placement.stage = "/stage/" + std::to_string(id % 700);
  placement.stage_in_union = "/union";
  placement.distance = static_cast<double>(id);
  return placement;
}

// As the library takes one; 0: none.
uint64_t take(ses_plan &plan, unsigned number) {
  ses_plan_entry &entry = plan.entries[number];
  std::atomic_ref taken(entry.taken), filled(entry.filled);
  uint64_t next = taken.load(std::memory_order_acquire);
  if (filled.load(std::memory_order_acquire) - next - 1 >= SES_PLAN_TICKETS) {
    return 0;
  }
  ses_plan_ticket ticket;
  std::memcpy(&ticket, &plan.tickets[number][next % SES_PLAN_TICKETS], sizeof ticket);
  ses_plan_element element;
  std::memcpy(&element, &plan.elements[ticket.elements[0] % SES_PLAN_ELEMENTS], sizeof element);
  std::atomic_thread_fence(std::memory_order_acquire);
  if (!taken.compare_exchange_strong(next, next + 1, std::memory_order_acq_rel)) {
    return 0;
  }
  if (placement_of(ticket.placement_id).element != element.element ||
      ticket.distance != static_cast<double>(ticket.placement_id)) {
    fail("a ticket that was taken is not whole");
  }
  return ticket.placement_id;
}

int race() {
  const auto plan = std::make_unique<ses_plan>();
  PlanBoard board(*plan);
  const unsigned entry = board.publish("app", {}, kDevice).value();
  std::vector<std::atomic<unsigned>> ended(kTickets + 1);
  std::atomic<bool> done{false};
  std::vector<std::thread> takers;
  for (unsigned i = 0; i < kTakers; ++i) {
    takers.emplace_back([&] {
      while (!done) {
        if (const uint64_t id = take(*plan, entry)) {
          ++ended[id];
        }
      }
    });
  }
  std::minstd_rand dice(1);
  uint64_t id = 1, seen_taken = 0, withdrawn = 0;
  while (id <= kTickets) {
    for (unsigned i = dice() % 100; i > 0 && id <= kTickets; --i) {
      id += board.fill(entry, placement_of(id), id) ? 1 : 0;
    }
    std::vector<uint64_t> taken;
    if (dice() % 4 == 0) {
      for (const uint64_t back : board.withdraw(entry, dice() % 50, taken)) {
        ++ended[back];
        ++withdrawn;
      }
    }
    const auto look = board.look(entry);
    seen_taken += taken.size() + look.taken.size();
    if (look.wiped) {
      fail("an entry that nobody spoilt was wiped");
    }
  }
  std::vector<uint64_t> taken;
  while (board.stock(entry) > 0) {
    for (const uint64_t back : board.withdraw(entry, SES_PLAN_TICKETS, taken)) {
      ++ended[back];
      ++withdrawn;
    }
  }
  done = true;
  for (std::thread &taker : takers) {
    taker.join();
  }
  seen_taken += taken.size();
  for (uint64_t one = 1; one <= kTickets; ++one) {
    if (ended[one] != 1) {
      fail("a ticket was dealt twice, or lost");
    }
  }
  if (seen_taken + withdrawn != kTickets) {
    fail("the board has another count of what was taken");
  }
  std::printf("taken %lu withdrawn %lu\n", seen_taken, withdrawn);
  return 0;
}

void scribble(ses_plan &plan, std::mt19937_64 &dice) {
  auto *const bytes = reinterpret_cast<unsigned char *>(&plan);
  const size_t starts[] = {0, offsetof(ses_plan, entries), offsetof(ses_plan, elements),
                           offsetof(ses_plan, reports), offsetof(ses_plan, tickets)};
  const size_t at = starts[dice() % 5] + dice() % 8192 / 8 * 8;
  const uint64_t values[] = {0, 1, 2, dice(), ~UINT64_C(0), UINT64_C(1) << 63, dice() % 5000};
  for (size_t i = 0; i < dice() % 16; ++i) {
    std::memcpy(bytes + at + 8 * i, &values[dice() % 7], 8);
  }
}

// One report as the library leaves it.
void report(ses_plan &plan) {
  const uint64_t number = plan.head.claimed++;
  ses_plan_report &slot = plan.reports[number % SES_PLAN_REPORTS];
  slot.placement_id = 4711;
  slot.outcome = SES_OUTCOME_CREATED;
  slot.path_length = 0;
  slot.state = 2 * number + 2;
}

int rubbish(unsigned seed) {
  std::mt19937_64 dice(seed);
  const auto plan = std::make_unique<ses_plan>();
  size_t reports = 0, wiped = 0;
  auto now = PlanRing::Time{} + std::chrono::hours(1);
  for (int life = 0; life < 20; ++life) { // each finds what the one before left
    PlanBoard board(*plan);
    PlanRing ring(*plan);
    std::vector<unsigned> entries;
    uint64_t id = 1;
    for (int i = 0; i < 300; ++i) {
      scribble(*plan, dice);
      report(*plan);
      now += std::chrono::milliseconds(dice() % 400);
      if (const auto entry = dice() % 20 == 0 ? board.publish("app", {}, kDevice) : std::nullopt) {
        entries.push_back(*entry);
      }
      for (const unsigned entry : entries) {
        std::vector<uint64_t> taken;
        (void)board.fill(entry, placement_of(id++), id);
        wiped += board.look(entry).wiped ? 1 : 0;
        (void)board.withdraw(entry, dice() % 8, taken);
        if (board.stock(entry) > SES_PLAN_TICKETS ||
            board.due(entry, dice()) > board.stock(entry)) {
          fail("more tickets than there can be");
        }
      }
      const auto found = ring.read(512, now);
      reports += found.size();
      if (found.size() > 512) {
        fail("more reports than were asked for");
      }
      for (const PlanReport &report : found) {
        if (report.pid < 0 || report.path.size() >= SES_PLAN_PATH_MAX || report.placement_id == 0) {
          fail("a report that makes no sense");
        }
      }
    }
  }
  std::printf("reports %zu wiped %zu\n", reports, wiped);
  return 0;
}

int demand() {
  PlanDemand demand;
  long ms = 0, taken = 0, missed = 0;
  while (std::cin >> ms >> taken >> missed) {
    const auto now = PlanDemand::Time{} + std::chrono::hours(1) + std::chrono::milliseconds(ms);
    demand.update(static_cast<uint64_t>(taken), static_cast<uint64_t>(missed), now);
    std::printf("%u\n", demand.level());
  }
  return 0;
}

// From stdin: COUNT of systems, ALL_KNOWN, and names of needed applications; prints what comes out.
int entries() {
  unsigned systems = 0;
  bool all_known = false;
  std::cin >> systems >> all_known;
  std::vector<std::pair<dev_t, StorageSystem>> mounted;
  for (unsigned i = 0; i < systems; ++i) {
    const uint32_t backend = i == 9 ? SES_BACKEND_CEPHFS : SES_BACKEND_MERGERFS;
    mounted.push_back({i + 1, {"s" + std::to_string(i), backend, "/mnt"}});
  }
  std::set<std::string> needed;
  for (std::string name; std::cin >> name;) {
    needed.insert(name);
  }
  for (const PlanEntry &entry : entries_for(mounted, needed, all_known, {{"asked", "s0", {}}})) {
    std::printf("%s:%s\n", entry.system.c_str(), entry.application.c_str());
  }
  return 0;
}

} // namespace

int main(int argc, char **argv) {
  const std::string what = argc > 1 ? argv[1] : "";
  return what == "race"                  ? race()
         : what == "rubbish" && argc > 2 ? rubbish(static_cast<unsigned>(std::atoi(argv[2])))
         : what == "demand"              ? demand()
         : what == "entries"             ? entries()
                                         : 2;
}
