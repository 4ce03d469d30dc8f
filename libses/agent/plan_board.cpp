#include "plan_board.h"

#include <sys/sysmacros.h>

#include <algorithm>
#include <atomic>
#include <cstring>

namespace ses::agent {
namespace {

constexpr int kTries = 16; // programs that take a ticket at the same moment
constexpr uint64_t kMostMissed = SES_PLAN_TICKETS;

template <typename T> T load(T &at) { return std::atomic_ref(at).load(std::memory_order_acquire); }
template <typename T> void store(T &at, T value) {
  std::atomic_ref(at).store(value, std::memory_order_release);
}
bool move(uint64_t &at, uint64_t from, uint64_t to) {
  return std::atomic_ref(at).compare_exchange_strong(from, to, std::memory_order_acq_rel);
}

// As a program works it out from the question it would ask.
uint64_t about(const std::string &application, const std::vector<Requirement> &requirements) {
  std::vector<ses_wire_requirement> wire;
  for (const Requirement &one : requirements) {
    wire.push_back({one.kind, one.hard ? 1u : 0u, one.minimum, one.weight});
  }
  return ses_plan_about(ses_plan_hash(application.c_str()), wire.data(),
                        static_cast<unsigned>(wire.size()));
}

uint32_t next_even(uint32_t sequence) {
  const uint32_t next = (sequence | 1) + 1;
  return next == 0 ? 2 : next;
}

} // namespace

PlanBoard::PlanBoard(ses_plan &plan) : plan_(plan), elements_(plan) {
  for (unsigned number = 0; number < SES_PLAN_ENTRIES; ++number) {
    ses_plan_entry &shared = plan_.entries[number];
    Entry &entry = entries_[number];
    entry.sequence = load(shared.sequence);
    entry.filled = load(shared.filled);
    entry.missed = load(shared.missed);
    if (entry.sequence != 0) {
      write_about(number); // about nothing
    }
  }
}

// Programs that look meanwhile see an odd sequence; what they would take is withdrawn first.
void PlanBoard::write_about(unsigned number) {
  ses_plan_entry &shared = plan_.entries[number];
  Entry &entry = entries_[number];
  store(shared.sequence, entry.sequence | 1);
  std::atomic_thread_fence(std::memory_order_seq_cst);
  store(shared.taken, entry.filled);
  store(shared.filled, entry.filled);
  shared.device_major = major(entry.device);
  shared.device_minor = minor(entry.device);
  shared.about_hash = entry.about;
  std::memset(shared.application, 0, sizeof shared.application);
  std::memcpy(shared.application, entry.application.data(), entry.application.size());
  entry.sequence = next_even(entry.sequence);
  store(shared.sequence, entry.sequence);
  std::atomic_ref(plan_.head.generation).fetch_add(1, std::memory_order_acq_rel);
}

std::optional<unsigned> PlanBoard::publish(const std::string &application,
                                           const std::vector<Requirement> &requirements,
                                           dev_t device) {
  const auto found = std::find_if(entries_.begin(), entries_.end(),
                                  [](const Entry &entry) { return !entry.used; });
  if (found == entries_.end() || application.size() >= SES_APPLICATION_MAX) {
    return std::nullopt;
  }
  const auto number = static_cast<unsigned>(found - entries_.begin());
  found->used = true;
  found->application = application;
  found->about = about(application, requirements);
  found->device = device;
  write_about(number);
  return number;
}

void PlanBoard::blank(unsigned number) {
  Entry &entry = entries_[number];
  std::vector<uint64_t> ids;
  drop_front(entry, entry.tickets.size(), ids);
  entry.used = false;
  entry.application.clear();
  entry.about = 0;
  entry.device = 0;
  write_about(number);
}

bool PlanBoard::fill(unsigned number, const Placement &placement, uint64_t expires_ms) {
  Entry &entry = entries_[number];
  if (entry.tickets.size() >= SES_PLAN_TICKETS || placement.stripe_count > UINT16_MAX) {
    return false;
  }
  auto elements = elements_.hold(placement);
  if (!elements) {
    return false;
  }
  ses_plan_ticket ticket{};
  ticket.placement_id = placement.id;
  ticket.expires_ms = expires_ms;
  ticket.stripe_size = placement.stripe_size;
  ticket.distance = placement.distance;
  ticket.stripe_count = static_cast<uint16_t>(placement.stripe_count);
  ticket.element_count = static_cast<uint16_t>(elements->size());
  std::copy(elements->begin(), elements->end(), ticket.elements);
  std::memcpy(&plan_.tickets[number][entry.filled % SES_PLAN_TICKETS], &ticket, sizeof ticket);
  ++entry.filled;
  entry.tickets.push_back({placement.id, expires_ms, std::move(*elements)});
  store(plan_.entries[number].filled, entry.filled);
  return true;
}

void PlanBoard::drop_front(Entry &entry, size_t count, std::vector<uint64_t> &ids) {
  for (; count > 0; --count) {
    ids.push_back(entry.tickets.front().placement_id);
    elements_.release(entry.tickets.front().elements);
    entry.tickets.pop_front();
  }
}

bool PlanBoard::is_sound(unsigned number, uint64_t taken) const {
  ses_plan_entry &shared = plan_.entries[number];
  const Entry &entry = entries_[number];
  return taken - entry.first() <= entry.tickets.size() && load(shared.filled) == entry.filled &&
         load(shared.sequence) == entry.sequence;
}

void PlanBoard::wipe(unsigned number, std::vector<uint64_t> &taken) {
  Entry &entry = entries_[number];
  drop_front(entry, entry.tickets.size(), taken);
  write_about(number);
}

PlanBoard::Look PlanBoard::look(unsigned number) {
  Look look;
  ses_plan_entry &shared = plan_.entries[number];
  Entry &entry = entries_[number];
  const uint64_t taken = load(shared.taken);
  if (!is_sound(number, taken)) {
    wipe(number, look.taken);
    look.wiped = true;
  } else {
    drop_front(entry, taken - entry.first(), look.taken);
  }
  const uint64_t missed = load(shared.missed);
  look.missed = std::min(missed - entry.missed, kMostMissed);
  entry.missed = missed;
  return look;
}

std::vector<uint64_t> PlanBoard::withdraw(unsigned number, size_t most,
                                          std::vector<uint64_t> &taken) {
  std::vector<uint64_t> withdrawn;
  ses_plan_entry &shared = plan_.entries[number];
  Entry &entry = entries_[number];
  for (int i = 0; i < kTries && most > 0; ++i) {
    const uint64_t first = load(shared.taken);
    if (!is_sound(number, first)) {
      wipe(number, taken);
      break;
    }
    drop_front(entry, first - entry.first(), taken);
    const size_t count = std::min(most, entry.tickets.size());
    if (move(shared.taken, first, first + count)) {
      drop_front(entry, count, withdrawn);
      break;
    }
  }
  return withdrawn;
}

size_t PlanBoard::due(unsigned number, uint64_t when_ms) const {
  const auto &tickets = entries_[number].tickets;
  size_t count = 0;
  while (count < tickets.size() && tickets[count].expires_ms <= when_ms) {
    ++count;
  }
  return count;
}

} // namespace ses::agent
