// What is open on this node, and what of it has still to be reported to the service.
//
// No I/O, threads or clock; its owner holds a lock.  Whatever is taken as a batch comes back as
// settled, put back or dropped.  An end is reported together with the opening or later, never
// before.
//
// What waits and what is kept is held by user: users take turns in a batch, and where room is short
// the user with most entries gets none.  Files that only became idle, or move again, come after all
// of that, few in a batch: files that change so without end delay no user's opening.
#ifndef SES_AGENT_ANNOUNCEMENT_BACKLOG_H
#define SES_AGENT_ANNOUNCEMENT_BACKLOG_H

#include <sys/types.h>

#include <deque>
#include <map>
#include <optional>
#include <set>
#include <unordered_map>
#include <vector>

#include "announcements/announcement.h"
#include "processes/idle_files.h"
#include "processes/proc_files.h"

namespace ses::agent {

class AnnouncementBacklog {
public:
  struct Opening {
    uid_t uid = 0;
    OpenedFile file;
    bool restore = false; // say how it came about
  };
  struct Ending {
    uid_t uid = 0;
    EndedFile file;
  };
  struct Batch {
    std::vector<Opening> opened;
    std::vector<Ending> ended;
    bool complete = false; // OPENED is everything that is open
    [[nodiscard]] size_t size() const { return opened.size() + ended.size(); }
  };

  void opened(uid_t uid, OpenedFile file);
  // An open file became idle, or is active again: reported like another opening.
  void moved(uint64_t id, bool idle);
  // Or has another size now: reported in the same way.
  void grew(const IdleFiles::Grown &grown);
  // False when there is no room left: then only take_all() reports this end.
  [[nodiscard]] bool ended(uid_t uid, EndedFile file);

  // At most MOST of what waits, one of each user in turn.
  [[nodiscard]] Batch take(size_t most);
  // Everything that is open, as a complete list, and everything else that waits.  None when that is
  // more than MOST.
  [[nodiscard]] std::optional<Batch> take_all(size_t most);
  // Everything that ended and is not known to be stored, in batches of at most MOST, with how it
  // came about.  Nothing else that waits is kept.
  [[nodiscard]] std::vector<Batch> take_ended(size_t most);
  // Everything that is open has to be reported once more, with how it came about.
  void report_all_again();

  // The service has taken BATCH under NUMBER, and answered that it does not know UNKNOWN: those are
  // reported again with how they came about, if that is known and was not reported with BATCH.
  // REFUSED are forgotten, except the ends among them.  Of what ended only the ids are left in
  // BATCH.
  void settle(Batch &batch, uint64_t number, const std::vector<uint64_t> &unknown,
              const std::vector<uint64_t> &refused);
  // What the service took up to NUMBER is stored: the ended files among it are forgotten.
  void stored(uint64_t number);
  // The service is another one, which may lack what was taken and not stored: that is reported
  // again.
  void report_unstored_again();
  void put_back(Batch batch);
  void drop(const Batch &batch);

  [[nodiscard]] bool knows(uint64_t id) const { return open_.contains(id) || ending_.contains(id); }
  // Those of FILES, by device and inode, that are open and not idle.
  [[nodiscard]] std::set<FileId> streams_of(const std::set<FileId> &files) const;
  [[nodiscard]] size_t waiting() const { return waiting_; }
  [[nodiscard]] size_t open() const { return open_.size(); }
  // UID has so much waiting that it should get nothing more.
  [[nodiscard]] bool crowded_by(uid_t uid) const;

private:
  struct Open {
    Opening opening;
    bool acknowledged = false; // some service has it
    bool waiting = false;      // in openings of its user
    bool moved = false;        // in moves of its user, and not waiting
  };

  // An opening (its id) or an end in an announcement that was taken and is not known to be stored.
  struct Taken {
    uint64_t number = 0; // of the announcement
    uint64_t opened = 0;
    std::optional<Ending> ended;
  };
  struct OfUser {
    std::deque<uint64_t> openings;
    std::deque<Ending> endings;
    std::deque<uint64_t> moves;
    std::deque<Taken> taken;
    [[nodiscard]] size_t waiting() const { return openings.size() + endings.size() + moves.size(); }
  };
  using Users = std::map<uid_t, OfUser>;

  [[nodiscard]] Open *find(uint64_t id); // null: not known
  void queue_opening(uint64_t id, Open &open, bool at_front);
  void queue_ending(Ending ending, bool at_front);
  template <typename Change> void change(uint64_t id, Change to);
  void take_one(OfUser &user, Batch &batch);
  void take_moves(OfUser &user, Batch &batch, size_t most);
  [[nodiscard]] Users::iterator after(Users::iterator user); // which goes if it has nothing
  void forget_first_taken(OfUser &user);

  std::unordered_map<uint64_t, Open> open_;
  // Ended, but the service has not stored it yet: what was open of them.
  std::unordered_map<uint64_t, Open> ending_;
  Users users_;
  uid_t next_ = 0;     // whose turn it is, or the next one's
  size_t waiting_ = 0; // of all users, as the next
  size_t taken_ = 0;
};

} // namespace ses::agent

#endif // SES_AGENT_ANNOUNCEMENT_BACKLOG_H
