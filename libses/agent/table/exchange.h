// What passes between the thread that speaks to the service and the loop that owns the table.
//
// Any thread, never waits.
#ifndef SES_AGENT_EXCHANGE_H
#define SES_AGENT_EXCHANGE_H

#include <sys/types.h>

#include <chrono>
#include <cstdint>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "node/unique_fd.h"
#include "processes/idle_files.h"
#include "service/needs.h"
#include "table/table_answer.h"

namespace ses::agent {

// An element to which no file of this node, or of one user here, can go, and why.
struct Exclusion {
  std::string element, why;
  std::optional<uid_t> uid; // none: of all users
  bool operator==(const Exclusion &) const = default;
};
using Exclusions = std::vector<Exclusion>;

// A table the agent asks for, and what it has of it.
struct TableWanted {
  std::string system, revision;
  int64_t version = 0;
  std::shared_ptr<const Exclusions> excluded; // null: not known, or as reported before
};

// One answer of the service, with what the request had reported.
struct ServiceUpdate {
  std::chrono::steady_clock::time_point asked_at{};
  std::vector<TableAnswer> tables;
  std::map<uid_t, std::shared_ptr<const UserNeeds>> needs; // of the users it was asked about
  std::shared_ptr<const UserNeeds> site_needs;             // null: as before
  std::vector<IdleFiles::Changed> opened;                  // placements, as the next
  std::vector<uint64_t> ended, unknown, refused;
};

class Exchange {
public:
  struct Ended {
    uint64_t placement_id = 0;
    bool closed = false; // it moved data
  };
  struct Arrived {
    std::vector<ServiceUpdate> updates;
    std::vector<IdleFiles::Changed> moved;
    std::vector<Ended> ended; // after that
    bool mounts = false;      // have changed
  };

  Exchange();

  // The loop's side.
  [[nodiscard]] int descriptor() const { return ready_.get(); } // readable when something arrived
  [[nodiscard]] Arrived take();
  void set_wanted(std::vector<TableWanted> wanted);
  void set_busy(bool busy);

  // Everybody else's.
  [[nodiscard]] std::vector<TableWanted> wanted() const;
  // Programs that can make claims run here.
  [[nodiscard]] bool busy() const;
  void put(ServiceUpdate update);
  void moved(const std::vector<IdleFiles::Changed> &moved);
  void ended(const std::vector<Ended> &ended);
  void mounts_changed();

private:
  void ring();

  const UniqueFd ready_; // eventfd
  mutable std::mutex mutex_;
  Arrived arrived_;
  bool has_rung_ = false;
  std::vector<TableWanted> wanted_;
  bool busy_ = false;
};

} // namespace ses::agent

#endif // SES_AGENT_EXCHANGE_H
