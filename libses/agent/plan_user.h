// The plan of one user: what is dealt, to be dealt, and reported back.
//
// Used by one thread (the socket's loop), which passes the time in.  Keeps its own record of every
// ticket, apart from the segment: a report counts once, for a ticket that was put into this very
// plan, and a ticket that was taken and never reported goes back after a while.
#ifndef SES_AGENT_PLAN_USER_H
#define SES_AGENT_PLAN_USER_H

#include <chrono>
#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <unordered_map>
#include <unordered_set>
#include <utility>
#include <vector>

#include "booker.h"
#include "plan_board.h"
#include "plan_demand.h"
#include "plan_entries.h"
#include "plan_finder.h"
#include "plan_ring.h"
#include "plan_segment.h"
#include "tickets.h"

namespace ses::agent {

class PlanUser {
public:
  using Time = std::chrono::steady_clock::time_point;

  struct Outlet {
    // Book COUNT tickets; answered by booked().  False: not now.
    std::function<bool(const TicketKey &, unsigned count, bool ahead)> book;
    std::function<void(uid_t, const Placement &, EndReason)> give_back;
    std::function<void(ReportedFile)> created;
    // The storage system a device belongs to, as far as the reports of an earlier agent go.
    std::function<std::optional<std::string>(dev_t)> mount_point_of;
  };

  PlanUser(uid_t uid, std::unique_ptr<PlanSegment> segment, const Outlet &outlet, Time now);

  [[nodiscard]] uid_t uid() const { return uid_; }
  [[nodiscard]] PlanSegment &segment() { return *segment_; }

  // Publishes what is in ENTRIES, the first ones first, and ends everything else.
  void publish(const std::vector<PlanEntry> &entries, Time now);
  // At most MOST reports; returns how many there were.
  size_t read_reports(size_t most, Time now);
  // Looks at what was taken, withdraws what expires, books what is wanted.  IDLE_LIFE: how long
  // tickets that nobody takes are kept.
  void stock(Time now, std::chrono::milliseconds idle_life);

  // A booking for KEY has ended.  REQUIREMENTS: what the service went by; others than before and
  // the tickets dealt so far are withdrawn.
  void booked(const TicketKey &key, Booking outcome, std::vector<Placement> placements,
              std::optional<std::vector<Requirement>> requirements, unsigned ordered, Time now);
  // One ticket of KEY's entry, for somebody who asks over the socket.
  [[nodiscard]] std::optional<Placement> take(const TicketKey &key, Time now);
  // A ticket booked for a question that got another one.  False when the entry has no use for it.
  [[nodiscard]] bool put(const TicketKey &key, const Placement &placement, Time now);
  // Takes back the tickets that IS_UNUSABLE (given the storage system) says nothing can be made of.
  void withdraw_unusable(
      const std::function<bool(const std::string &system, const Placement &)> &is_unusable,
      Time now);
  void withdraw_all(Time now);
  // Books anew for entries with few tickets, those in use first, and takes theirs back when the
  // others have come.
  void refresh(Time now);
  // Takes back every ticket, and what is being booked when it comes; others are booked instead.
  void renew(Time now);

  [[nodiscard]] size_t entries() const { return entries_.size(); }
  [[nodiscard]] bool in_use(Time now) const;
  // Programs take tickets, or are about to report.
  [[nodiscard]] bool is_busy(Time now) const;
  // No ticket is in the segment or in the hands of a program.
  [[nodiscard]] bool has_nothing_out() const { return dealt_.empty(); }
  // Some program began a report that it has not finished.
  [[nodiscard]] bool awaits_report() const { return ring_.has_unfinished(); }

private:
  struct Entry {
    PlanEntry about;
    PlanDemand demand;
    unsigned ordered = 0;     // tickets
    unsigned out_of_date = 0; // of those, that are not wanted any more
    bool refresh = false;     // book in place of what is there
    bool replacing = false;   // what is ordered takes the place of what is there
    Time refreshed_at{};
    std::optional<std::vector<Requirement>> requirements;
    Time not_before{}; // of the next booking
    std::chrono::milliseconds pause{0};
  };
  struct Dealt {
    Placement placement;
    unsigned entry = 0;
    dev_t device = 0;
    std::string mount_point;
  };

  [[nodiscard]] std::optional<unsigned> entry_of(const TicketKey &key) const;
  [[nodiscard]] TicketKey key_of(const Entry &entry) const;
  bool fill(unsigned number, const Placement &placement, Time now);
  void note_taken(const std::vector<uint64_t> &ids, Time now);
  // Takes back tickets of an entry and forgets them.
  std::vector<Placement> withdraw(unsigned number, size_t most, Time now);
  void give_back(const std::vector<Placement> &placements, EndReason reason);
  void restock(unsigned number, Entry &entry, Time now);
  void on_report(PlanReport report, Time now);
  void on_stranger(PlanReport report);

  const uid_t uid_;
  const std::unique_ptr<PlanSegment> segment_;
  const Outlet &outlet_;
  PlanBoard board_;
  PlanRing ring_;
  std::map<unsigned, Entry> entries_;
  std::map<Asked, unsigned> number_of_;
  std::unordered_map<uint64_t, Dealt> dealt_;   // taken or to be taken
  std::deque<std::pair<Time, uint64_t>> taken_; // give up on it then
  std::unordered_set<uint64_t> strangers_;      // reported, dealt by an earlier agent
  Time strangers_until_{};
  Time busy_until_{};
  Time distrusted_until_{};
  std::chrono::milliseconds distrust_{0};
  std::chrono::milliseconds life_{5000}; // of tickets nobody takes
};

} // namespace ses::agent

#endif // SES_AGENT_PLAN_USER_H
