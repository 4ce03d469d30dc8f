// Tells the service, in the background, which placements were opened and which ended.
//
// Any thread may add; nothing waits.  Reports about one placement are sent in order.  While the
// service is away they are kept, up to a limit, and sent when it is back; a report the service
// refuses (it forgot the placement, say) is dropped.  What is dropped for lack of room is ended
// by the service's own lease.
#ifndef SES_AGENT_REPORTER_H
#define SES_AGENT_REPORTER_H

#include <array>
#include <condition_variable>
#include <deque>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <thread>

#include "service_client.h"
#include "service_health.h"
#include "service_messages.h"

namespace ses::agent {

class Reporter {
public:
  Reporter(const ServiceAddress &address, const Token &token, const std::string &ca_file,
           ServiceHealth &health);
  ~Reporter();

  struct Opened {
    uint64_t placement_id = 0;
    std::string path; // empty: not known
    uint64_t device = 0;
    uint64_t inode = 0;
    int pid = 0;
  };
  void opened(uid_t uid, const Opened &file);
  void ended(uid_t uid, uint64_t placement_id, EndReason reason,
             std::optional<uint64_t> bytes_written = std::nullopt);

  // So many reports about this uid's placements wait that it should get no more of them.
  [[nodiscard]] bool overloaded_by(uid_t uid) const;
  // Sends what waits, until it is all sent, the service fails, or LIMIT has passed.
  void stop(std::chrono::milliseconds limit);

private:
  struct Request {
    uid_t uid = 0;
    const char *method = nullptr;
    std::string path;
    std::string body;
    unsigned attempts = 0;
  };
  struct Lane {
    std::condition_variable wake;
    std::deque<Request> queue;
    std::thread thread;
  };

  void add(uint64_t placement_id, Request request);
  void work(Lane &lane, ServiceClient client);
  // False when it should be sent again later.
  [[nodiscard]] bool send(ServiceClient &client, Request &request);

  ServiceHealth &health_;
  mutable std::mutex mutex_;
  bool stopping_ = false;
  Clock::time_point stop_by_{};
  size_t waiting_ = 0;
  std::map<uid_t, size_t> waiting_of_;
  bool said_full_ = false;
  std::array<Lane, 2> lanes_; // by placement id: two requests under way at once
};

} // namespace ses::agent

#endif // SES_AGENT_REPORTER_H
