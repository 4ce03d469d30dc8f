// One storage system as this node sees it: what the service sent of each element last, and what the
// service does not know yet: claims and files of this node, and their ends.
//
// Pure: no I/O, threads or clock.  Times serve only for ages.
//
// A placement counts from its claim on.  Until it has been reported to the service, it is counted
// here.  A row from the service includes everything that had been reported to it by then.
#ifndef SES_AGENT_CANDIDATES_H
#define SES_AGENT_CANDIDATES_H

#include <algorithm>
#include <chrono>
#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "ses/table.h"
#include "systems/seen_writes.h"
#include "table/table_answer.h"

namespace ses::agent {

// The elements of one revision, in the order of the table.
struct TableFacts {
  std::string system;
  std::vector<ElementFacts> rows;
  [[nodiscard]] std::optional<unsigned> row_of(const std::string &element) const;
};

using Held = std::shared_ptr<const std::vector<double>>; // bytes by row

class Candidates {
public:
  using Time = std::chrono::steady_clock::time_point;

  explicit Candidates(std::string system);

  // False when ANSWER has only what changed since a revision that this has not.  ASKED_AT: the
  // service may not have counted what other nodes placed after that.  Rows that changed lose what
  // was counted for them: their files are to be counted again.
  [[nodiscard]] bool apply(const TableAnswer &answer, Time asked_at);

  [[nodiscard]] const std::string &revision() const { return revision_; }
  [[nodiscard]] int64_t version() const { return version_; }
  [[nodiscard]] Time asked_at() const { return asked_at_; }
  [[nodiscard]] const std::shared_ptr<const TableFacts> &facts() const { return facts_; }
  [[nodiscard]] uint32_t total() const { return static_cast<uint32_t>(std::min(total_, 1e9)); }
  [[nodiscard]] size_t size() const { return facts_->rows.size(); }
  [[nodiscard]] const ses_core_policy &policy() const { return policy_; }

  // A file of BYTES (negative: not known) comes to ROW, or does not come after all.  It counts on
  // every row that is on the same file system of the same server.
  void add(unsigned row, double bytes, const Promises &promises = {});
  void remove(unsigned row, double bytes, const Promises &promises = {});
  // One that was removed is a stream again; that is no placement.
  void put_back(unsigned row, double bytes, const Promises &promises = {});

  // USED bytes, by target, were in use at AT; whether that changed elements.
  [[nodiscard]] bool look_at_space(const std::map<std::string, double> &used, Time at);

  // All rows as they are now.
  [[nodiscard]] std::vector<ses_core_element> elements(Time now) const;
  // What open files of a stated size are still expected to take; the same one until that changes.
  [[nodiscard]] Held held();
  // Of all rows, in the site's own order.
  [[nodiscard]] std::vector<uint32_t> numbers() const;
  // Lets placements of this node count on idle rows for 4 to 8 s only, where other nodes created a
  // file a second at some time in the last ten minutes; whether that changed elements.
  [[nodiscard]] bool forget_placements(Time now);
  // Seconds since ROW's sample; NaN: there is none.
  [[nodiscard]] double age(unsigned row, Time now) const;
  // Rows whose sample is too old by now, or have none; another answer than before changes elements.
  [[nodiscard]] uint64_t unseen(Time now) const;
  // See ses_table_candidate_limit(): the more placements of other nodes are likely not known here
  // yet, the fewer elements are compared.  STREAMS: those of this node.
  [[nodiscard]] uint32_t candidate_limit(Time now, const ses_rank &rank = {},
                                         uint32_t streams = 0) const;
  // The row at which a program of RANK begins.
  [[nodiscard]] uint32_t first(const ses_rank &rank) const;

private:
  // STREAMS more (negative: fewer) of BYTES and PROMISES each on the device of ROW.
  void count(unsigned row, double streams, double bytes, const Promises &promises);
  [[nodiscard]] double held(unsigned row) const;
  [[nodiscard]] double own(unsigned row) const;
  struct Delta {
    double own = 0, reserved = 0;
    uint64_t last_placed = 0; // by this node
    Promises promises;
  };

  // See `last_placed` of struct ses_core_element.
  [[nodiscard]] static uint64_t last_placed_of(double own, const ElementLoad &load,
                                               const Delta &delta);
  // Of the files of this node, streams by server: only of servers that have a limit.
  [[nodiscard]] std::map<uint32_t, double> server_deltas() const;
  [[nodiscard]] ses_core_element element_of(unsigned row, uint64_t unseen,
                                            const std::map<uint32_t, double> &servers,
                                            Time now) const;

  std::string revision_;
  int64_t version_ = 0;
  double sent_at_ = 0, total_ = 0, rate_ = 0, max_age_ = 0;
  double report_within_ = 0;
  Time asked_at_{};
  ses_core_policy policy_{};
  std::shared_ptr<const TableFacts> facts_;
  std::vector<ElementLoad> loads_;
  std::vector<std::optional<Time>> sampled_at_;
  std::vector<Delta> deltas_;
  SeenWrites seen_writes_;
  std::vector<unsigned> devices_; // of each row the first on its device: these share load and room
  Held held_;                     // as it was asked for last
  uint64_t latest_ = 0; // milliseconds since the epoch, or somewhat more: no two are the same
  uint64_t looked_ = 0; // `latest_` when placements were looked at last,
  Time looked_at_{};    // and that time
  std::optional<Time>
      crowd_at_; // when the service last reported that other nodes create many files
};

} // namespace ses::agent

#endif // SES_AGENT_CANDIDATES_H
