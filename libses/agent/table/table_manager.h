// The candidate table of this node: what is in it, and when it changes.
//
// Belongs to the socket's loop.  Owns the segment, one Candidates for each storage system, and the
// files of this node that are not reported to the service, or that it does not count as ended yet.
#ifndef SES_AGENT_TABLE_MANAGER_H
#define SES_AGENT_TABLE_MANAGER_H

#include <algorithm>
#include <array>
#include <atomic>
#include <chrono>
#include <deque>
#include <map>
#include <memory>
#include <numeric>
#include <optional>
#include <string>
#include <unordered_map>
#include <vector>

#include "lustre/health.h"
#include "systems/systems.h"
#include "table/candidates.h"
#include "table/choice.h"
#include "table/counted_file.h"
#include "table/exchange.h"
#include "table/places.h"
#include "table/table_publisher.h"
#include "table/table_segment.h"
#include "table/writing_out.h"

namespace ses::agent {

class TableManager {
public:
  using Time = std::chrono::steady_clock::time_point;
  struct Parts {
    const std::string &socket_path;
    const Systems &systems;
    LustreHealth &lustre;
    UnionHealth &unions;
    ses_lustre_form lustre_form; // of OSTs
    Exchange &exchange;
    WritingOut &writing_out;
  };

  explicit TableManager(const Parts &parts);

  // Makes the table, or takes over the one that is there.  False when there is no memory for one,
  // with the cause in WHY.
  [[nodiscard]] bool open(std::string &why);
  [[nodiscard]] TablePublisher &publisher() { return *publisher_; }
  // Programs look for another one from now on; and there is none.
  void retire() { publisher_->retire(); }
  void remove() { segment_->remove(); }

  // The service's answer about tables and placements.
  void apply(const ServiceUpdate &update, Time now);
  // What an agent before this one kept of it.
  void apply_saved(const std::vector<TableAnswer> &tables, Time now);
  // The mounts have changed, perhaps.
  void look_at_mounts(Time now);
  // What changes with time: samples that grow old, how many are compared, lost OSTs and branches.
  void tick(Time now);

  // Claims of ROW that programs made, or gave up, that no placement is known of yet.
  void claim(unsigned system, unsigned row, int change);
  // A placement: a claim that has come to something, or an answer given over the socket.  ROWS are
  // those of FACTS.  False when there is one of that id.
  bool place(uint64_t id, unsigned system, std::shared_ptr<const TableFacts> facts,
             const std::vector<uint8_t> &rows, const ses_core_need &need);
  // It is idle, no stream, or is not any more.
  void rest(uint64_t id, bool idle);
  // It has ended (CLOSED: it moved data), or has come to nothing.
  void end(uint64_t id, bool closed);
  // Shows programs what was counted since the last call.
  void show(Time now);

  // The place in the table of a system mounted here; none: it has no candidates.
  [[nodiscard]] std::optional<unsigned> number_of(const std::string &system) const;
  [[nodiscard]] std::vector<unsigned> systems() const; // those with candidates
  [[nodiscard]] size_t rows(unsigned system) const {
    return systems_[system].candidates ? systems_[system].candidates->size() : 0;
  }
  [[nodiscard]] const StorageSystem &about(unsigned system) const { return systems_[system].about; }
  [[nodiscard]] uint64_t excluded(unsigned system) const {
    return systems_[system].places.excluded;
  }
  // Elements of a system to which no file of some users can go now, to be reported to the service.
  void exclude_for_users(unsigned number, Exclusions excluded) {
    System &system = systems_[number];
    system.of_users = std::move(excluded);
    system.excluded = exclusions_of(*system.candidates->facts(), system.places, system.of_users);
    report_wanted();
  }
  // False until it was looked at where files can go: then every row is excluded.
  [[nodiscard]] bool has_places(unsigned system) const { return systems_[system].places.known; }
  // The elements whose rows an epoch had; null: that was too long ago.
  [[nodiscard]] std::shared_ptr<const TableFacts> facts(unsigned system, uint64_t epoch) const;
  [[nodiscard]] std::shared_ptr<const TableFacts> facts(unsigned system) const {
    return systems_[system].candidates->facts();
  }
  // As it stood in the table; null: that was too long ago.
  [[nodiscard]] std::shared_ptr<const Epoch> epoch(unsigned system, uint64_t number) const;
  // What is held of each row now; null: the rows are not those of EPOCH any more.
  [[nodiscard]] Held held(unsigned system, const Epoch &epoch) {
    Candidates *candidates = systems_[system].candidates.get();
    return candidates != nullptr && candidates->facts() == epoch.facts ? candidates->held()
                                                                       : nullptr;
  }
  // Chooses as programs do; the rows are empty when no element can take the file.
  [[nodiscard]] Choice choose(unsigned system, const ses_core_need &need, uint64_t excluded,
                              const ses_rank &rank, Time now);
  // Grows when elements, or where files can go, changed: staging directories are to be looked at
  // again.
  [[nodiscard]] uint64_t generation() const { return generation_; }

private:
  struct System {
    StorageSystem about;
    bool mounted = false;
    std::unique_ptr<Candidates> candidates;
    uint64_t unseen = 0;
    Places places;
    Exclusions of_users;                        // see exclude_for_users()
    std::shared_ptr<const Exclusions> excluded; // null: not known
    std::map<std::string, std::string> logged;  // by element: why it takes no file
    std::deque<std::shared_ptr<const Epoch>> epochs;
    // The first epoch of each of the last revisions.
    std::deque<std::pair<uint64_t, std::shared_ptr<const TableFacts>>> revisions;
    std::array<int, SES_TABLE_ELEMENTS> claims{};
    int streams = 0;                // of files of this node that are counted
    std::vector<uint64_t> reported; // placements whose report no table of the service counts yet
    bool dirty = false;
    uint64_t used = 0; // bit r: files went to row r since the last tick
  };
  void take_over();
  [[nodiscard]] std::optional<unsigned> slot_of(const std::string &name);
  void note_reported(const ServiceUpdate &update);
  void apply_table(const TableAnswer &answer, Time asked_at, Time now);
  void settle(unsigned number);
  void settle(uint64_t id);
  void count(const CountedFile &placed, bool in);
  void count_again(unsigned number);
  // Of this node, on all elements.
  [[nodiscard]] static uint32_t streams_of(const System &system) {
    return static_cast<uint32_t>(
        std::max(0, std::accumulate(system.claims.begin(), system.claims.end(), system.streams)));
  }
  // Where each row is, and which can take no file; true when that is not what it was.
  bool look_at_places(System &system);
  void publish(unsigned number, Time now);
  void report_wanted();

  const Parts parts_;
  const uint64_t socket_hash_;
  std::unique_ptr<TableSegment> segment_;
  std::unique_ptr<TablePublisher> publisher_;
  std::array<System, SES_TABLE_SYSTEMS> systems_;
  std::unordered_map<uint64_t, CountedFile> placed_;
  uint64_t generation_ = 0;
  Time ticked_at_{};
  bool logged_many_systems_ = false;
  std::atomic<bool> places_changed_{false}; // set on threads that look at Lustre and unions
};

} // namespace ses::agent

#endif // SES_AGENT_TABLE_MANAGER_H
