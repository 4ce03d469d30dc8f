#include "tickets.h"

#include <algorithm>

namespace ses::agent {
namespace {

constexpr std::chrono::milliseconds kTicketLife{1000};
constexpr std::chrono::milliseconds kRefusalLife{1000};
constexpr std::chrono::milliseconds kKeyLife{2000};
constexpr unsigned kLargestBatch = 64;
constexpr unsigned kPrefetchFrom = 8; // smaller batches are not worth booking ahead
constexpr unsigned kMostKeysOfUid = 256;

} // namespace

bool TicketCache::has_room(uid_t uid) {
  const auto found = keys_of_.find(uid);
  return found == keys_of_.end() || found->second < kMostKeysOfUid;
}

void TicketCache::ask(const TicketKey &key, Waiter waiter, Time now) {
  auto found = entries_.find(key);
  if (found == entries_.end()) {
    if (!has_room(key.uid)) {
      callbacks_.refuse(waiter);
      return;
    }
    found = entries_.emplace(key, Entry{}).first;
    ++keys_of_[key.uid];
  }
  Entry &entry = found->second;
  entry.asked_at = now;
  drop_stale(key.uid, entry, now);
  if (!entry.ready.empty()) {
    const Ticket ticket = std::move(entry.ready.front());
    entry.ready.pop_front();
    if (!callbacks_.deal(waiter, ticket.placement)) {
      entry.ready.push_front(ticket);
      return;
    }
    if (!entry.booking && entry.batch >= kPrefetchFrom && entry.ready.size() <= entry.batch / 2 &&
        now - entry.booking_at < kTicketLife) {
      start_booking(key, entry, now);
    }
    return;
  }
  if (const auto placement = callbacks_.fetch(key)) {
    if (!callbacks_.deal(waiter, *placement)) {
      callbacks_.hand_back(key.uid, *placement);
    }
    return;
  }
  if (now < entry.refused_until) {
    callbacks_.refuse(waiter);
    return;
  }
  entry.waiters.push_back(waiter);
  if (!entry.booking) {
    start_booking(key, entry, now);
  }
}

void TicketCache::start_booking(const TicketKey &key, Entry &entry, Time now) {
  if (now - entry.booking_at >= kTicketLife) {
    entry.next_batch = 1;
  }
  entry.batch = std::clamp(std::max(entry.next_batch, static_cast<unsigned>(entry.waiters.size())),
                           1u, kLargestBatch);
  entry.next_batch = std::min(kLargestBatch, entry.batch * 2);
  entry.booking_at = now;
  entry.booking = callbacks_.book(key, entry.batch);
  if (!entry.booking) {
    refuse_all(entry);
  }
}

bool TicketCache::deal_to_next(Entry &entry, const Placement &placement) {
  bool dealt = false;
  while (!dealt && !entry.waiters.empty()) {
    const Waiter waiter = entry.waiters.front();
    entry.waiters.pop_front();
    dealt = callbacks_.deal(waiter, placement);
  }
  return dealt;
}

void TicketCache::serve(const TicketKey &key, std::vector<Placement> &placements) {
  if (const auto found = entries_.find(key); found != entries_.end()) {
    std::erase_if(placements, [&](const Placement &placement) {
      return deal_to_next(found->second, placement);
    });
  }
}

void TicketCache::booked(const TicketKey &key, Booking outcome, std::vector<Placement> placements,
                         Time now) {
  const auto found = entries_.find(key);
  if (found == entries_.end()) {
    for (const Placement &placement : placements) {
      callbacks_.hand_back(key.uid, placement);
    }
    return;
  }
  Entry &entry = found->second;
  entry.booking = false;
  for (Placement &placement : placements) {
    if (!deal_to_next(entry, placement) && !callbacks_.leave(key, placement)) {
      entry.ready.push_back({std::move(placement), now});
    }
  }
  if (outcome == Booking::kRefused) {
    entry.refused_until = now + kRefusalLife;
  }
  if (outcome != Booking::kBooked) {
    entry.next_batch = 1;
    refuse_all(entry);
  } else if (!entry.waiters.empty()) {
    start_booking(key, entry, now);
  }
}

void TicketCache::forget(const TicketKey &key, Waiter waiter) {
  if (const auto found = entries_.find(key); found != entries_.end()) {
    std::erase(found->second.waiters, waiter);
  }
}

void TicketCache::refuse_all(Entry &entry) {
  for (std::deque<Waiter> waiters = std::move(entry.waiters); const Waiter waiter : waiters) {
    callbacks_.refuse(waiter);
  }
  entry.waiters.clear();
}

void TicketCache::drop_stale(uid_t uid, Entry &entry, Time now) {
  unsigned unused = 0;
  while (!entry.ready.empty() && now - entry.ready.front().booked_at >= kTicketLife) {
    callbacks_.hand_back(uid, entry.ready.front().placement);
    entry.ready.pop_front();
    ++unused;
  }
  if (unused > 0) {
    entry.next_batch = entry.batch > unused ? entry.batch - unused : 1;
  }
}

void TicketCache::expire(Time now) {
  for (auto it = entries_.begin(); it != entries_.end();) {
    Entry &entry = it->second;
    drop_stale(it->first.uid, entry, now);
    if (entry.ready.empty() && entry.waiters.empty() && !entry.booking &&
        now >= entry.refused_until && now - entry.asked_at >= kKeyLife) {
      if (--keys_of_[it->first.uid] == 0) {
        keys_of_.erase(it->first.uid);
      }
      it = entries_.erase(it);
    } else {
      ++it;
    }
  }
}

void TicketCache::drain() {
  for (auto &[key, entry] : entries_) {
    for (const Ticket &ticket : entry.ready) {
      callbacks_.hand_back(key.uid, ticket.placement);
    }
    entry.ready.clear();
    refuse_all(entry);
  }
  entries_.clear();
  keys_of_.clear();
}

} // namespace ses::agent
