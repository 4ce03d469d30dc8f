// Entries and tickets of one plan, as ses/plan.h describes them.
//
// Used by one thread, beside any number of programs that take tickets.  What is in the segment is
// compared with the board's own record and never believed: an entry in which something stands that
// neither agent nor library wrote is wiped, and counts as emptied by its user.
//
// Does NOT book, expire or give back anything, and never looks at reports.
#ifndef SES_AGENT_PLAN_BOARD_H
#define SES_AGENT_PLAN_BOARD_H

#include <sys/types.h>

#include <array>
#include <cstdint>
#include <deque>
#include <optional>
#include <string>
#include <vector>

#include "plan_elements.h"
#include "ses/plan.h"
#include "wire.h"

namespace ses::agent {

class PlanBoard {
public:
  // Withdraws what an earlier agent left in PLAN.
  explicit PlanBoard(ses_plan &plan);

  // An entry without tickets for files of APPLICATION, by programs that state REQUIREMENTS, on
  // DEVICE.  None when there are no more, or the name is too long.
  [[nodiscard]] std::optional<unsigned> publish(const std::string &application,
                                                const std::vector<Requirement> &requirements,
                                                dev_t device);
  // Ends ENTRY, whose tickets have been withdrawn.
  void blank(unsigned entry);

  // False when there is no room.
  [[nodiscard]] bool fill(unsigned entry, const Placement &placement, uint64_t expires_ms);

  struct Look {
    std::vector<uint64_t> taken; // placements, since the last look
    uint64_t missed = 0;         // since the last look
    bool wiped = false;          // all of its tickets count as taken
  };
  [[nodiscard]] Look look(unsigned entry);
  // Takes back up to MOST tickets, the oldest first; what programs took meanwhile goes to TAKEN.
  [[nodiscard]] std::vector<uint64_t> withdraw(unsigned entry, size_t most,
                                               std::vector<uint64_t> &taken);

  // As of the last look.
  [[nodiscard]] size_t stock(unsigned entry) const { return entries_[entry].tickets.size(); }
  // How many of the oldest tickets expire until WHEN_MS.
  [[nodiscard]] size_t due(unsigned entry, uint64_t when_ms) const;

private:
  struct Ticket {
    uint64_t placement_id = 0;
    uint64_t expires_ms = 0;
    std::vector<uint16_t> elements;
  };
  struct Entry {
    bool used = false;
    uint32_t sequence = 0;
    std::string application;
    uint64_t about = 0; // ses_plan_about() of it and the requirements
    dev_t device = 0;
    uint64_t filled = 0;
    uint64_t missed = 0;
    std::deque<Ticket> tickets; // numbers filled - size .. filled - 1
    [[nodiscard]] uint64_t first() const { return filled - tickets.size(); }
  };

  void write_about(unsigned entry);
  void drop_front(Entry &entry, size_t count, std::vector<uint64_t> &ids);
  [[nodiscard]] bool is_sound(unsigned entry, uint64_t taken) const;
  void wipe(unsigned entry, std::vector<uint64_t> &taken);

  ses_plan &plan_;
  PlanElements elements_;
  std::array<Entry, SES_PLAN_ENTRIES> entries_;
};

} // namespace ses::agent

#endif // SES_AGENT_PLAN_BOARD_H
