// What the service refuses of the reports about users: counted, and logged once a minute for each
// user.
//
// One thread.
#ifndef SES_AGENT_REFUSALS_H
#define SES_AGENT_REFUSALS_H

#include <chrono>
#include <cstddef>
#include <map>
#include <string>

#include "announcements/announcement.h"
#include "service/health.h"

namespace ses::agent {

class Refusals {
public:
  explicit Refusals(ServiceHealth &health) : health_(health) {}

  // What REPLY refuses of ANNOUNCEMENT, at NOW.
  void note(const Announcement &announcement, const AnnouncementReply &reply,
            Clock::time_point now);

private:
  void note(const std::string &user, const std::string &why, Clock::time_point now);

  struct Logged {
    Clock::time_point at{};
    size_t since = 0; // how many were refused since then
  };
  ServiceHealth &health_;
  std::map<std::string, Logged> logged_; // by user
  size_t total_ = 0;
};

} // namespace ses::agent

#endif // SES_AGENT_REFUSALS_H
