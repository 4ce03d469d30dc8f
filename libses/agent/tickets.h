// Placements booked in advance, and the programs that wait for one.
//
// No I/O, threads or clock: the socket's loop owns it, passes the time in and does what the
// callbacks say.  Tickets are kept per (uid, application, system, requirements, expected bytes),
// so nobody is ever dealt what was booked for somebody else.
//
// How many are booked at once: one at first; as long as a batch is used up within a second, the
// next one is twice as large, up to 64; never fewer than programs wait.  A ticket nobody took
// within a second is handed back and the next batch is as small as what was really used, so a
// requirement changed in the portal holds for the next run.
#ifndef SES_AGENT_TICKETS_H
#define SES_AGENT_TICKETS_H

#include <chrono>
#include <compare>
#include <cstdint>
#include <deque>
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "wire.h"

namespace ses::agent {

struct TicketKey {
  uid_t uid = 0;
  std::string application;
  std::string system;
  std::vector<Requirement> requirements;
  std::optional<int64_t> expected_bytes;
  auto operator<=>(const TicketKey &) const = default;
};

enum class Booking {
  kBooked,
  kRefused, // the service has nothing for this question: not asked again for a second
  kFailed,  // no usable answer: ServiceHealth says when to ask again
};

class TicketCache {
public:
  using Time = std::chrono::steady_clock::time_point;
  using Waiter = uint64_t;

  struct Callbacks {
    // Book COUNT tickets; false when that cannot even be tried.  Answered by booked().
    std::function<bool(const TicketKey &, unsigned count)> book;
    // Hand PLACEMENT to WAITER; false when it does not wait any more.
    std::function<bool(Waiter, const Placement &)> deal;
    // WAITER gets none.
    std::function<void(Waiter)> refuse;
    // Tell the service that PLACEMENT was not used.
    std::function<void(uid_t, const Placement &)> hand_back;
    // A ticket of KEY that lies elsewhere (in a plan); none when there is none.
    std::function<std::optional<Placement>(const TicketKey &)> fetch;
    // Leave PLACEMENT there; false when it is not wanted.
    std::function<bool(const TicketKey &, const Placement &)> leave;
  };

  explicit TicketCache(Callbacks callbacks) : callbacks_(std::move(callbacks)) {}

  // WAITER wants a ticket: deal or refuse is called now or, after a booking, later.
  void ask(const TicketKey &key, Waiter waiter, Time now);
  // WAITER gave up.  Harmless when it is not waiting.
  void forget(const TicketKey &key, Waiter waiter);
  // Deals of PLACEMENTS, booked by somebody else, what programs wait for.
  void serve(const TicketKey &key, std::vector<Placement> &placements);
  // The end of a booking that book() began.
  void booked(const TicketKey &key, Booking outcome, std::vector<Placement> placements, Time now);
  // Hands back what is too old and forgets keys nobody asks for.
  void expire(Time now);
  // Hands back everything.
  void drain();
  // Nothing to expire.
  [[nodiscard]] bool empty() const { return entries_.empty(); }

private:
  struct Ticket {
    Placement placement;
    Time booked_at;
  };
  struct Entry {
    std::deque<Ticket> ready;
    std::deque<Waiter> waiters;
    bool booking = false;
    unsigned batch = 0; // size of the last booking
    unsigned next_batch = 1;
    Time booking_at{};
    Time asked_at{};
    Time refused_until{};
  };

  // False when nobody who waits can be dealt PLACEMENT.
  bool deal_to_next(Entry &entry, const Placement &placement);
  void start_booking(const TicketKey &key, Entry &entry, Time now);
  void drop_stale(uid_t uid, Entry &entry, Time now);
  void refuse_all(Entry &entry);
  [[nodiscard]] bool has_room(uid_t uid);

  const Callbacks callbacks_;
  std::map<TicketKey, Entry> entries_;
  std::map<uid_t, unsigned> keys_of_;
};

} // namespace ses::agent

#endif // SES_AGENT_TICKETS_H
