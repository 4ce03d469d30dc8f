/*
 * The ledger: every placement that is kept, what is open where, and how many streams each element
 * has.
 *
 * A state machine, open -> ended, with time passed in.  Nothing is locked here: calls on one ledger
 * come one after the other, from any thread.  None makes a system call but for memory.  To open or
 * end a file costs one or two microseconds, however many there are.  A record that was given out is
 * never changed but replaced.
 *
 * Not here: nodes and their leases, readers, what other services carry (the ledger of
 * `ses_service`, which hands in what is to be done about these: `Hooks`).
 */
#ifndef SES_STATE_LEDGER_H
#define SES_STATE_LEDGER_H

#include "bounds.h"
#include "streams.h"

#include <functional>
#include <queue>
#include <stdexcept>
#include <unordered_set>

namespace ses::state {

/* What an agent reports: how a placement came about that the ledger may not know. */
struct Origin {
  std::vector<std::string> elements;
  double placed_at = 0.0, distance = 0.0;
  std::string decided_by = "service";
  Number expected_bytes;
  std::vector<std::string> notes;
  bool operator==(const Origin &) const = default;
};

/* By which decision, the how manieth file of it, and what was predicted for it then. */
struct InBatch {
  std::int64_t decision = 0;
  int batch_number = 1, batch_size = 1;
  Offered predicted;
  bool operator==(const InBatch &) const = default;
};

struct Report {
  Id id = 0;
  Text path;
  std::optional<std::uint64_t> device;
  Text inode;
  std::optional<std::int64_t> pid;
  Number opened_at;
  Text user, application, job;
  std::optional<bool> idle;
  Number bytes;
  bool closed = false;
  std::optional<Origin> origin;
  std::optional<InBatch> in_batch;
  bool operator==(const Report &) const = default;
};

struct Ended {
  Id id = 0;
  EndReason reason = EndReason::closed;
  Number bytes_written;
  Text path;
  AchievedPtr achieved;
  bool operator==(const Ended &other) const {
    return id == other.id && reason == other.reason && bytes_written == other.bytes_written &&
           path == other.path && !achieved == !other.achieved &&
           (!achieved || *achieved == *other.achieved);
  }
};

struct Files {
  std::vector<Report> opened;
  std::vector<Ended> ended;
  bool operator==(const Files &) const = default;
};

/* Why something cannot be done: an unknown placement, one that has ended, one of somebody else, or
 * else. */
struct LedgerError : std::runtime_error {
  enum Kind { other, unknown, ended, not_yours } kind;
  LedgerError(Kind kind, const std::string &what) : std::runtime_error(what), kind(kind) {}
};

/* Ids of placements that changed, for one who stores them. */
struct Changes : std::unordered_set<Id> {};

struct Hooks {
  std::function<void(Id, double)> settle; /* it is another one now whether the placement is ours */
  std::function<void(Id, double)> taken_over;  /* it is ours from now on */
  std::function<void(const Placement &)> left; /* a place is open no more, or replaced */
  /* A place as it stands after its node reported it. */
  std::function<PlacementPtr(const PlacementPtr &opened, const PlacementPtr &before,
                             const Number &bytes)>
      reported;
};

/* A file whose size is known, or that is as large while it grows. */
struct Size {
  PlacementPtr placement;
  double bytes = 0.0;
  bool known = false;
};

struct Refusal {
  Id id;
  std::string why;
};

struct TakenFiles {
  std::vector<Id> unknown, inherited; /* open before their node first reported them */
  std::vector<Refusal> refused;
};

struct Limits {
  std::size_t max_records; /* of placements that ended */
  std::size_t max_untaken; /* more of them, while a follower has not taken them */
};

class Ledger {
public:
  Ledger(const Limits &limits, FileBounds bounds);

  /* Where files can go from now on: elements by row, the back ends of systems, and the VOs of
   * users. */
  void describe(std::vector<ElementPtr> elements,
                std::unordered_map<std::string, std::string> backends,
                std::unordered_map<std::string, std::string> home_vo);
  /* Count all that is open along the rows the counter was bound to. */
  void count_again();

  PlacementPtr find(Id id) const;
  PlacementPtr get(Id id) const; /* throws LedgerError */
  void restore(const PlacementPtr &placement);
  /* Another record of a place; whether it had ended. */
  bool change(const PlacementPtr &place);
  PlacementPtr end(const Ended &ended, double now);
  bool keep_verdict(const PlacementPtr &placement, FileVerdictPtr verdict);
  void release(Id id, double now);
  void inherit(const Placement &stored);
  void note(Id id);
  std::size_t expire(double now, std::size_t limit);

  /* What a node reports: `explain` gives what the files of a decision share, nothing where it is
   * not known. */
  using Explain = std::function<WhyPtr(std::int64_t decision, const std::string &user)>;
  TakenFiles take(const Files &files, const std::string &node, double now, const Explain &explain);

  std::size_t size() const { return _open_count; }
  std::vector<Id> open_on(const std::string &node) const; /* in their order */
  std::size_t count_open_on(const std::string &node) const;
  const std::unordered_map<std::string, std::unordered_set<Id>> &streams() const {
    return _open_on;
  }
  bool is_ended_by_node(Id id) const;
  std::vector<PlacementPtr> records(const Text &user) const;
  std::vector<Id> ids() const;
  std::shared_ptr<Changes> follow();
  std::vector<std::pair<Id, PlacementPtr>> take_changes(Changes &changes, std::size_t limit) const;

  Counter counter;
  FileBounds bounds;
  Arrivals recent;
  Hooks hooks;
  std::unordered_set<Id> of_peers; /* ids that another service reported */
  std::unordered_map<std::string, std::int64_t> places_of;
  std::array<std::int64_t, end_reasons> ended_total{};
  std::deque<Size> sizes;            /* not learned yet */
  std::deque<PlacementPtr> to_judge; /* ended, or what they achieved came late */

private:
  struct Entry {
    PlacementPtr placement;
    std::uint64_t ended_at = 0;    /* its place among those that ended; 0: it is open */
    double rate = 0.0, hard = 0.0; /* of writing, as it was promised */
  };
  using Records = std::unordered_map<Id, Entry>;

  void activate(Entry &entry, const PlacementPtr &placement);
  void enter(const Placement &placement);
  void leave(const Placement &placement);
  void hold(const Placement &before, const Placement &now);
  void begin(Entry &entry);
  void stop(Entry &entry, double now);
  void promise(Entry &entry);
  void keep(Entry &entry, const PlacementPtr &placement);
  void drop_oldest();
  void settle(Id id, double now);
  void sized(const PlacementPtr &placement, double bytes, bool known);
  void over(const PlacementPtr &placement);
  PlacementPtr complete(Entry &entry, const Ended &ended);
  PlacementPtr open(const Report &report, double now, const std::string &node);
  void take_opened(const Report &report, const std::string &node, double now,
                   const Explain &explain, std::unordered_map<std::string, SubjectPtr> &subjects,
                   TakenFiles &taken);
  PlacementPtr restored(const Report &report, const Origin &origin, SubjectPtr subject, double now,
                        const Explain &explain) const;

  Limits _limits;
  Records _records;
  std::size_t _open_count = 0, _ended_count = 0;
  std::uint64_t _ended_next = 1;
  std::deque<std::pair<Id, std::uint64_t>>
      _ended; /* the oldest first; one taken up again stands here all the same */
  std::unordered_map<std::string, std::unordered_set<Id>> _open_on;
  using Lease = std::pair<double, Id>;
  std::priority_queue<Lease, std::vector<Lease>, std::greater<>> _leases;
  std::vector<std::shared_ptr<Changes>> _followers;
  bool _described = false;
  std::vector<ElementPtr> _elements;
  std::unordered_map<std::string, std::uint32_t> _row_of;
  std::unordered_map<std::string, std::string> _backends, _home_vo;
};

/* A time that was reported, or now where none is known. */
inline double moment(const Number &reported, double now) {
  return reported && *reported > 0 ? *reported : now;
}

/* Numbers of the elements of a placement, for as long as it is looked at. */
std::vector<std::uint32_t> numbers_of(const Placement &placement);

} // namespace ses::state

#endif /* SES_STATE_LEDGER_H */
