/* What an entry of the ledger is counted in, while it is open, idle or ended; see ledger.h. */
#include "ledger.h"

#include <algorithm>
#include <cmath>

namespace ses::state {

namespace {

constexpr std::size_t dropped_at_once =
    16; /* so that no end waits for the many that were kept meanwhile */
constexpr std::size_t most_to_learn = 20'000, most_to_judge = 100'000;

} // namespace

std::vector<std::uint32_t> numbers_of(const Placement &placement) {
  std::vector<std::uint32_t> numbers;
  numbers.reserve(placement.elements.size());
  for (const auto &element : placement.elements)
    numbers.push_back(element->number);
  return numbers;
}

void Ledger::activate(Entry &entry, const PlacementPtr &placement) {
  if (entry.ended_at != 0)
    _ended_count--;
  entry.ended_at = 0;
  entry.placement = placement;
  _open_count++;
  if (of_peers.contains(placement->id))
    hooks.taken_over(placement->id, placement->placed_at);
  enter(*placement);
  if (!placement->idle)
    begin(entry);
  note(placement->id);
}

void Ledger::enter(const Placement &placement) {
  const auto &subject = *placement.subject;
  if (placement.held)
    places_of[subject.user]++;
  if (subject.node) {
    _open_on[*subject.node].insert(placement.id);
    bounds.opened(*subject.node, subject.user, subject.job);
  }
  if (std::isfinite(placement.lease_until))
    _leases.emplace(placement.lease_until, placement.id);
}

void Ledger::leave(const Placement &placement) {
  const auto &subject = *placement.subject;
  if (placement.held) {
    if (--places_of[subject.user] <= 0)
      places_of.erase(subject.user);
    if (hooks.left)
      hooks.left(placement);
  }
  if (!subject.node)
    return;
  auto there = _open_on.find(*subject.node);
  if (there == _open_on.end() || there->second.erase(placement.id) == 0)
    return;
  if (there->second.empty())
    _open_on.erase(there);
  bounds.closed(*subject.node, subject.user, subject.job);
}

/* Count the bytes of a stream that goes on as it stands now. */
void Ledger::hold(const Placement &before, const Placement &now) {
  if (before.expected_bytes == now.expected_bytes)
    return;
  counter.count(numbers_of(before), 0.0, -before.expected_bytes.value_or(0.0));
  counter.count(numbers_of(now), 0.0, now.expected_bytes.value_or(0.0));
}

void Ledger::begin(Entry &entry) {
  const auto &placement = *entry.placement;
  counter.begin(placement.id, numbers_of(placement), placement.began(), placement.expected_bytes);
  promise(entry);
}

void Ledger::promise(Entry &entry) {
  const auto &placement = *entry.placement;
  entry.rate = placement.why ? placement.why->rate : 0.0;
  entry.hard = placement.why ? placement.why->hard_rate : 0.0;
  if (entry.rate > 0.0)
    counter.promise(numbers_of(placement), entry.rate, entry.hard, 1);
}

void Ledger::stop(Entry &entry, double now) {
  const auto &placement = *entry.placement;
  auto numbers = numbers_of(placement);
  counter.end(placement.id, numbers, placement.began(), placement.expected_bytes, now);
  if (entry.rate > 0.0)
    counter.promise(numbers, entry.rate, entry.hard, -1);
  entry.rate = entry.hard = 0.0;
}

void Ledger::keep(Entry &entry, const PlacementPtr &placement) {
  entry.placement = placement;
  entry.ended_at = _ended_next++;
  _ended.emplace_back(placement->id, entry.ended_at);
  _ended_count++;
}

void Ledger::drop_oldest() {
  for (std::size_t dropped = 0; dropped < dropped_at_once && _ended_count > _limits.max_records;) {
    auto [id, place] = _ended.front();
    auto there = _records.find(id);
    if (there != _records.end() && there->second.ended_at == place) {
      bool wanted = std::any_of(_followers.begin(), _followers.end(),
                                [id](const auto &follower) { return follower->contains(id); });
      if (wanted && _ended_count <= _limits.max_records + _limits.max_untaken)
        return;
      _records.erase(there);
      _ended_count--;
      note(id);
      dropped++;
    }
    _ended.pop_front();
  }
}

void Ledger::settle(Id id, double now) {
  if (of_peers.contains(id))
    hooks.settle(id, now);
}

void Ledger::sized(const PlacementPtr &placement, double bytes, bool known) {
  const auto &reason = placement->end_reason;
  if (reason && reason != EndReason::closed && reason != EndReason::exited)
    return;
  sizes.push_back({placement, bytes, known});
  if (sizes.size() > most_to_learn)
    sizes.pop_front();
}

void Ledger::over(const PlacementPtr &placement) {
  if (placement->end_reason == EndReason::unused || placement->end_reason == EndReason::failed)
    return;
  to_judge.push_back(placement);
  if (to_judge.size() > most_to_judge)
    to_judge.pop_front();
}

} // namespace ses::state
