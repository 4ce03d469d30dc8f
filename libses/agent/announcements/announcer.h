// Reports to the service, in the background, which placements were opened and which ended: many in
// one request, and a heartbeat at the interval the service asks for.
//
// Any thread may add; nothing waits.  What was not acknowledged is kept and sent again, which
// changes nothing the second time.  A service that does not know a placement (it lost its ledger,
// or is another one) is sent what it needs to restore it; a service that was restarted is sent
// everything that is open.  After a start of the agent, and when it took files over from another
// service, the service sends what it holds open here, and the listener finds out what is left of
// that.
//
// Does NOT find out what is open, or decide anything.  What it keeps on disk is unsent.h's.
#ifndef SES_AGENT_ANNOUNCER_H
#define SES_AGENT_ANNOUNCER_H

#include <condition_variable>
#include <functional>
#include <map>
#include <mutex>
#include <random>
#include <set>
#include <string>
#include <thread>
#include <vector>

#include "announcements/announced_exclusions.h"
#include "announcements/announcement.h"
#include "announcements/announcement_backlog.h"
#include "announcements/quiet_answer.h"
#include "announcements/refusals.h"
#include "announcements/seen_users.h"
#include "announcements/unsent.h"
#include "processes/identity.h"
#include "processes/idle_files.h"
#include "service/client.h"
#include "service/health.h"
#include "table/exchange.h"
#include "table/saved_state.h"

namespace ses::agent {

class Announcer {
public:
  struct Service {
    const Services &services;
    const Token &token;
    const Trust &trust;
    const std::string &node;
    ServiceHealth &health;
    Exchange &exchange; // where its answers go
    SavedState &saved;
  };
  // Called on the announcer's thread; none may wait for long.
  struct Listeners {
    // What the ledger holds open that this agent knows nothing of.  The listener calls opened() or
    // ended() for each of them, and then compared().
    std::function<void(std::vector<LedgerFile>)> on_ledger;
    // The same of places.
    std::function<void(std::vector<LedgerFile>)> on_places;
    // What was reported, and the ledger does not hold, or not any more.
    std::function<void(const std::vector<uint64_t> &)> on_unknown;
  };

  explicit Announcer(Service service);
  ~Announcer();
  void start(Listeners listeners);

  // Placements that were opened, then those that became idle or are not any more, then those that
  // ended.
  void report(std::vector<AnnouncementBacklog::Opening> opened,
              const std::vector<IdleFiles::Changed> &moved,
              std::vector<AnnouncementBacklog::Ending> ended);
  // Open files that are much larger than they were.
  void grew(const std::vector<IdleFiles::Grown> &files);
  // All that programs of this node read and did not create, from now on.
  void reading(std::vector<Reading> reading);
  // Those of FILES, by device and inode, that the service counts as streams.
  [[nodiscard]] std::set<FileId> streams_of(const std::set<FileId> &files) const;
  // All that on_ledger(), or on_places(), was called with has been reported.
  void compared(bool places = false);
  // UID runs programs here: the service sends what they need, soon and then with each heartbeat,
  // until this was not called for an hour.
  void user_seen(uid_t uid);
  // With a sign of life now: programs began here.
  void announce_soon();
  // With a sign of life now: the service answers (again), or a thread stalls or goes on.
  void heartbeat_now();

  // Too many reports about UID's placements wait: no more of its files should be placed.
  [[nodiscard]] bool overloaded_by(uid_t uid) const;
  // The pace the service asks for.
  [[nodiscard]] std::chrono::milliseconds pace() const;
  // Sends what waits, until it is all sent, the service fails, or LIMIT has passed, which breaks
  // off a request that has no answer; keeps the rest of what ended for the next start.
  void stop(std::chrono::milliseconds limit);

private:
  using Lock = std::unique_lock<std::mutex>;
  using Batch = AnnouncementBacklog::Batch;

  void work();
  void enter(std::vector<AnnouncementBacklog::Opening> opened,
             std::vector<AnnouncementBacklog::Ending> ended);
  void hold_back(std::vector<AnnouncementBacklog::Opening> &opened,
                 std::vector<AnnouncementBacklog::Ending> &ended);
  void let_go_on();
  // Changes of files that are reported, wherever the reports wait.
  void change(const std::vector<IdleFiles::Changed> &moved,
              const std::vector<IdleFiles::Grown> &grown);
  // Not while files wait for a name: what is not listed counts as lost.
  [[nodiscard]] bool is_complete_due() const {
    return complete_due_ && !comparing_ && !comparing_places_ && held_opened_.empty();
  }
  [[nodiscard]] Clock::time_point next_send() const;
  [[nodiscard]] std::chrono::milliseconds pause() const;
  [[nodiscard]] Batch next_batch();
  [[nodiscard]] size_t usual_batch() const; // files in a message that is not complete
  void send(Lock &lock, Batch batch);
  [[nodiscard]] std::string user_of(uid_t uid);
  [[nodiscard]] std::optional<AnnouncementReply> read(const Reply &reply);
  [[nodiscard]] Announcement announcement_of(const Batch &batch, const std::vector<uid_t> &users);
  void report_unsent(Lock &lock);
  void keep_unsent();
  void failed(Batch batch, const Reply &reply);
  void settle(Lock &lock, Batch batch, AnnouncementReply reply, Clock::time_point asked_at);
  void pass_on(const Batch &batch, AnnouncementReply reply, Clock::time_point asked_at);
  void pass_on_needs(AnnouncementReply &reply, ServiceUpdate &update);
  [[nodiscard]] bool is_to_look(size_t more) const;

  const Service service_;
  UserNames names_;
  ServiceClient client_; // of the thread, as the four below
  QuietAnswer quiet_;
  Refusals refusals_;
  std::map<std::string, uid_t> uid_of_;
  std::map<uid_t, std::string> generation_of_;
  Listeners listeners_;
  const std::string incarnation_;
  uint64_t number_ = 0; // of the last announcement
  Unsent unsent_;
  unsigned unsent_attempts_ = 0; // of its first

  mutable std::mutex mutex_;
  std::condition_variable wake_;
  AnnouncementBacklog backlog_;
  // By placement, those of users whose names are not known; as below.
  std::map<uint64_t, AnnouncementBacklog::Opening> held_opened_;
  std::vector<AnnouncementBacklog::Ending> held_ended_;
  SeenUsers users_;
  bool stopping_ = false, is_over_ = false;
  std::condition_variable over_;
  Clock::time_point stop_by_{};
  bool complete_due_ = false;
  bool comparing_ = false, comparing_places_ = false;
  std::string instance_;
  std::chrono::milliseconds pace_{5000}, report_within_{50};
  Clock::time_point used_at_{}, created_at_{};
  Clock::time_point heartbeat_at_{};
  Clock::time_point sent_at_{};
  size_t sent_files_ = 0;
  Clock::time_point not_before_{}; // after a request that broke the service
  size_t batch_limit_;
  unsigned attempts_ = 0;        // of the smallest request that breaks the service
  AnnouncedExclusions excluded_; // of the thread
  std::vector<Reading> reading_;
  bool reading_due_ = false;
  bool logged_no_announcements_ = false;
  std::string logged_nonsense_; // of the thread
  std::minstd_rand random_{std::random_device{}()};
  std::thread thread_;
};

} // namespace ses::agent

#endif // SES_AGENT_ANNOUNCER_H
