// One keep-alive connection to the ses-service in use, and the node's token or session: by https,
// at a UNIX socket, or by plain http on this machine.  Nothing is sent before the other end is
// proven: by its certificate, or by the user who listens (peer_proof.h).
//
// Files of certificates that were replaced count from the next request on; those that do not fit
// each other leave the last good ones in use.
//
// Used by one thread at a time.  Every request has a time-out; a reply larger
// than 4 MiB is cut off and counts as none.  Knows nothing about what the
// messages mean (messages.h) or whether asking makes sense now
// (health.h).
#ifndef SES_AGENT_SERVICE_CLIENT_H
#define SES_AGENT_SERVICE_CLIENT_H

#include <atomic>
#include <chrono>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "service/address.h"
#include "service/peer_proof.h"
#include "service/sessions.h"

namespace httplib {
class ClientImpl;
}

namespace ses::agent {

// The services of the site, any of which will do, and the one in use.  Any thread.
class Services {
public:
  explicit Services(std::vector<ServiceAddress> addresses) : addresses_(std::move(addresses)) {}
  [[nodiscard]] size_t size() const { return addresses_.size(); }
  [[nodiscard]] const ServiceAddress &at(size_t index) const { return addresses_[index]; }
  [[nodiscard]] size_t current() const { return current_.load(std::memory_order_relaxed); }
  void use(size_t index) { current_.store(index, std::memory_order_relaxed); }

private:
  const std::vector<ServiceAddress> addresses_;
  std::atomic<size_t> current_{0};
};

// The token this node shows to the service.  Any thread.
class Token {
public:
  explicit Token(std::string path) : path_(std::move(path)) {}
  // (Re)reads the file.  Returns an empty string, or why the file cannot be used: a file that is
  // not regular, belongs to somebody else, can be read by group or others, or is empty.  On
  // failure the token known before stays in use.
  [[nodiscard]] std::string load();
  [[nodiscard]] std::string value() const;

private:
  const std::string path_; // empty: no token
  mutable std::mutex mutex_;
  std::string value_;
};

// Whom the agent believes to be the service, and what it shows of its own.
struct Trust {
  std::string ca_file;     // PEM; empty: the system's certificate authorities
  std::string certificate; // PEM; empty: none is shown
  std::string key;
  TrustedUsers users;                 // who may listen on this machine
  std::shared_ptr<Sessions> sessions; // by MUNGE; null: a token is shown, if there is one
};

struct Reply {
  int status = 0;    // 0: no usable reply; error says why
  std::string error; // empty when there is a status
  std::string body;
  std::optional<std::chrono::milliseconds> retry_after; // as the service asked
  size_t service = 0;                                   // which one was asked
  std::chrono::steady_clock::time_point sent_at{};
  bool timed_out = false;    // it took the request and did not answer in time
  bool nobody_there = false; // no connection: nothing listens there, or there is no way to it
};

class ServiceClient {
public:
  ServiceClient(const Services &services, const Token &token, const Trust &trust);
  ~ServiceClient();

  // Asks the service in use.  METHOD and PATH ("/v1/…"); BODY is JSON, or empty for none.  Sent
  // again once when a kept connection turns out to be closed by the other side.  Throws nothing.
  [[nodiscard]] Reply request(const std::string &method, const std::string &path,
                              const std::string &body = "");
  // Ends the request under way, within a second, and refuses those to come.  Any thread.
  void break_off();

private:
  // Shows TOKEN, unless it is empty or would travel in clear text.
  Reply send(const std::string &method, const std::string &path, const std::string &body,
             const std::string &token);
  Reply send_once(const std::string &method, const std::string &path, const std::string &body,
                  const std::string &token, bool &connection_lost);
  Reply send_in_session(const std::string &method, const std::string &path,
                        const std::string &body);
  // The token of a session, which is opened if need be; empty, and REPLY says why.
  std::string session_token(Reply &reply);

  void connect_to(size_t service);
  // Were files replaced since the connection was made ready?
  [[nodiscard]] bool has_other_files() const;

  const Services &services_;
  const Token &token_;
  const Trust trust_;
  size_t connected_to_ = 0;
  std::string files_; // the state of those that it was made ready with; empty: they were no good
  bool are_files_refused_ = false;
  std::string unproven_; // why the other end of the last connection was not believed
  std::atomic<bool> is_broken_off_ = false;
  std::mutex mutex_; // of what another thread breaks off
  std::unique_ptr<httplib::ClientImpl> http_;
};

} // namespace ses::agent

#endif // SES_AGENT_SERVICE_CLIENT_H
