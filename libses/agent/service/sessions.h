// Sessions with the services: each gives this node a token for a MUNGE credential, which is valid
// for some minutes.
#ifndef SES_AGENT_SERVICE_SESSIONS_H
#define SES_AGENT_SERVICE_SESSIONS_H

#include <chrono>
#include <mutex>
#include <string>
#include <vector>

namespace ses::agent {

class Sessions {
public:
  // Of NODE, with the munged at SOCKET (net/munge.h).
  Sessions(std::string socket, std::string node, size_t services)
      : socket_(std::move(socket)), node_(std::move(node)), open_(services) {}

  // The token for SERVICE; empty when there is none, or it ends soon.
  [[nodiscard]] std::string token(size_t service) const;
  // The body of a request for a session as this node; empty, and WHY says why, without munged.
  [[nodiscard]] std::string request(std::string &why) const;
  // Takes the answer to it.  False: it is none.
  [[nodiscard]] bool take(size_t service, const std::string &body);
  // SERVICE refused TOKEN: it is not shown again.
  void refused(size_t service, const std::string &token);

private:
  struct Session {
    std::string token;
    std::chrono::steady_clock::time_point renew_at{};
  };

  const std::string socket_;
  const std::string node_;
  mutable std::mutex mutex_;
  std::vector<Session> open_;
};

} // namespace ses::agent

#endif // SES_AGENT_SERVICE_SESSIONS_H
