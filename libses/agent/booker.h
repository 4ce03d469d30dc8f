// Threads that book placements at the service and make their staging directories.  While no service
// answers they choose themselves (detached.h).
//
// submit() and take_results() are for the socket's loop and never wait.  Requests queue per uid
// and uids take turns, also for what is chosen without the service; one uid never occupies every
// thread, so nobody can keep others waiting.  A user whose questions alone the service leaves
// unanswered does without it for a while (slow_users.h).
#ifndef SES_AGENT_BOOKER_H
#define SES_AGENT_BOOKER_H

#include <chrono>
#include <condition_variable>
#include <deque>
#include <map>
#include <mutex>
#include <optional>
#include <string>
#include <thread>
#include <vector>

#include "detached.h"
#include "housekeeper.h"
#include "identity.h"
#include "lustre_health.h"
#include "service_client.h"
#include "service_health.h"
#include "slow_users.h"
#include "systems.h"
#include "tickets.h"
#include "unique_fd.h"

namespace ses::agent {

struct BookingOrder {
  TicketKey key;
  unsigned count = 1;
  uint64_t waiter = 0; // who cannot wait for the service any longer; 0: tickets
  bool for_plan = false;
  bool ahead = false; // of need
  std::chrono::seconds lease{30};
};

struct BookingResult {
  TicketKey key;
  uint64_t waiter = 0; // as in the order, and the two below
  bool for_plan = false;
  unsigned ordered = 1;
  Booking outcome = Booking::kFailed;
  std::vector<Placement> placements;
  std::optional<std::vector<Requirement>> requirements; // that the service went by
  std::vector<Placement> unusable;                      // booked, but no file can be made there now
};

class Booker {
public:
  struct Service {
    const Services &services;
    const Token &token;
    const std::string &ca_file;
    const std::string &node;
    ServiceHealth &health;
    Detached &detached;
    ses_lustre_form lustre_form; // of OSTs
  };

  Booker(Service service, const Systems &systems, Housekeeper &housekeeper);
  ~Booker();

  // False when the uid has too many requests waiting.
  [[nodiscard]] bool submit(BookingOrder order);
  // Chooses one placement for WAITER without the service, soon.  False when too many of the uid
  // wait for that.
  [[nodiscard]] bool submit_alone(const TicketKey &key, uint64_t waiter);
  // Which OSTs can take files; placements on others are never among the results.
  [[nodiscard]] LustreHealth &lustre() { return lustre_; }
  // Readable when there are results.
  [[nodiscard]] int ready_descriptor() const { return ready_.get(); }
  [[nodiscard]] std::vector<BookingResult> take_results();
  // Forgets what waits and ends the threads; results of what was under way can still be taken.
  void stop();

private:
  struct Queue {
    std::deque<BookingOrder> orders;
    unsigned running = 0;
  };

  void work();
  void work_alone();
  [[nodiscard]] std::map<uid_t, Queue>::iterator next_turn();
  [[nodiscard]] bool can_ask_for(uid_t uid);
  void not_answered(uid_t uid, const std::string &failure, const Reply &reply);
  [[nodiscard]] BookingResult book(ServiceClient &client, const BookingOrder &order);
  void decide_alone(const BookingOrder &order, BookingResult &result);
  void prepare(const BookingOrder &order, std::vector<Placement> booked, BookingResult &result);
  void exclude(const std::string &element, const std::string &why);
  [[nodiscard]] std::vector<std::string> excluded(const std::string &system);

  const Service service_;
  const Systems &systems_;
  Housekeeper &housekeeper_;
  LustreHealth lustre_;
  UserNames names_;
  const UniqueFd ready_; // eventfd

  std::mutex mutex_;
  std::condition_variable wake_;
  bool stopping_ = false;
  std::map<uid_t, Queue> queues_;
  std::map<uid_t, std::deque<BookingOrder>> alone_;
  std::condition_variable wake_alone_;
  uid_t last_turn_ = 0, last_turn_alone_ = 0;
  SlowUsers slow_;
  std::vector<BookingResult> results_;
  std::map<std::string, Clock::time_point> excluded_until_;
  std::vector<std::thread> threads_;
};

} // namespace ses::agent

#endif // SES_AGENT_BOOKER_H
