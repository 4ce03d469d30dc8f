#include "service/client.h"

#include <fcntl.h>
#include <httplib.h>
#include <openssl/err.h>
#include <openssl/x509_vfy.h>
#include <spdlog/spdlog.h>
#include <sys/stat.h>

#include <cerrno>
#include <cstring>
#include <exception>
#include <utility>

#include "node/unique_fd.h"

namespace ses::agent {
namespace {

constexpr size_t kReplyLimit = 4u << 20;
constexpr size_t kTokenLimit = 4096;
constexpr std::chrono::milliseconds kConnectWithin{1000};
// No program waits meanwhile.  A service with much to do is not lost: asked again, it has more.
constexpr std::chrono::milliseconds kTimeout{5000};
constexpr long kRetryAfterLimitSeconds = 60;

std::optional<std::chrono::milliseconds> retry_after_of(const httplib::Response &response) {
  const std::string text = response.get_header_value("Retry-After");
  if (text.empty() || text.find_first_not_of("0123456789") != std::string::npos) {
    return std::nullopt; // absent, or a date, which the service does not send
  }
  const long seconds = text.size() > 4 ? kRetryAfterLimitSeconds : std::stol(text);
  return std::chrono::seconds(std::min(seconds, kRetryAfterLimitSeconds));
}

constexpr const char *kVersionHeader = "Ses-Version";
constexpr size_t kVersionShown = 40;
constexpr const char *kSessionPath = "/v1/sessions";
constexpr int kOk = 200;
constexpr int kUnauthenticated = 401;

// A service that sends no version is taken for one of the same major version.
bool is_other_major(const std::string &version) {
  const std::string own = SES_AGENT_VERSION;
  const std::string major = version.substr(0, version.find('.'));
  return !major.empty() && major.find_first_not_of("0123456789") == std::string::npos &&
         major != own.substr(0, own.find('.'));
}

// VERIFIED is what OpenSSL says of the certificate, apart from its name.
std::string words_of_certificate(long verified) {
  switch (verified) {
  case X509_V_OK:
    return "its certificate is for another name";
  case X509_V_ERR_CERT_HAS_EXPIRED:
    return "its certificate has expired, or the clock here is wrong";
  case X509_V_ERR_CERT_NOT_YET_VALID:
    return "its certificate is not valid yet, or the clock here is wrong";
  case X509_V_ERR_UNABLE_TO_GET_ISSUER_CERT_LOCALLY:
  case X509_V_ERR_UNABLE_TO_VERIFY_LEAF_SIGNATURE:
  case X509_V_ERR_DEPTH_ZERO_SELF_SIGNED_CERT:
  case X509_V_ERR_SELF_SIGNED_CERT_IN_CHAIN:
    return "its certificate is of an authority that --service-ca does not hold";
  default:
    return std::string("its certificate is refused: ") + X509_verify_cert_error_string(verified);
  }
}

std::string words_of(httplib::Error error, const httplib::ClientImpl &client) {
  const auto *encrypted = dynamic_cast<const httplib::SSLClient *>(&client);
  if (error == httplib::Error::SSLServerVerification && encrypted != nullptr) {
    return words_of_certificate(encrypted->get_openssl_verify_result());
  }
  return "HTTP: " + httplib::to_string(error);
}

// Differs when one of the files was replaced.
std::string state_of_files(const Trust &trust) {
  std::string state;
  for (const std::string &path : {trust.ca_file, trust.certificate, trust.key}) {
    struct stat status {};
    if (!path.empty() && stat(path.c_str(), &status) == 0) {
      state += std::to_string(status.st_ino) + ' ' + std::to_string(status.st_size) + ' ' +
               std::to_string(status.st_mtim.tv_sec) + ' ' +
               std::to_string(status.st_mtim.tv_nsec) + ' ';
    }
    state += '\n';
  }
  return state;
}

std::unique_ptr<httplib::ClientImpl> encrypted_client(const ServiceAddress &address,
                                                      const Trust &trust) {
  auto made = std::make_unique<httplib::SSLClient>(address.host, address.port, trust.certificate,
                                                   trust.key);
  made->enable_server_certificate_verification(true);
  if (!trust.ca_file.empty()) {
    made->set_ca_cert_path(trust.ca_file);
  }
  return made;
}

// Not where one of two files was replaced and the other not yet.
bool has_good_files(const httplib::ClientImpl &client, const Trust &trust) {
  const std::unique_ptr<X509_STORE, void (*)(X509_STORE *)> store(X509_STORE_new(),
                                                                  X509_STORE_free);
  return client.is_valid() && store &&
         (trust.ca_file.empty() || X509_STORE_load_file(store.get(), trust.ca_file.c_str()) == 1);
}

// Plain HTTP to a service on this machine, whose user is proven for each connection.
class LocalClient : public httplib::ClientImpl {
public:
  LocalClient(const ServiceAddress &address, const TrustedUsers &users, std::string &unproven)
      : httplib::ClientImpl(address.socket_path.empty() ? address.host : "localhost",
                            address.socket_path.empty() ? address.port : 80),
        address_(address), users_(users), unproven_(unproven) {}

private:
  bool create_and_connect_socket(Socket &socket, httplib::Error &error) override {
    if (!address_.socket_path.empty()) {
      socket.sock = connect_to_trusted(address_.socket_path, users_, unproven_);
      error = httplib::Error::Connection;
      return socket.sock >= 0;
    }
    const auto before = listening_on(address_.port);
    if (!httplib::ClientImpl::create_and_connect_socket(socket, error)) {
      return false;
    }
    unproven_ = fault_of_tcp_peer(socket.sock, address_.port, before, users_);
    if (!unproven_.empty()) {
      close_socket(socket);
      error = httplib::Error::Connection;
    }
    return unproven_.empty();
  }

  const ServiceAddress &address_;
  const TrustedUsers &users_;
  std::string &unproven_;
};

} // namespace

std::string Token::load() {
  if (path_.empty()) {
    return "";
  }
  const std::string where = "token file " + path_;
  const UniqueFd file(open(path_.c_str(), O_RDONLY | O_CLOEXEC | O_NOCTTY | O_NONBLOCK));
  struct stat status {};
  if (!file || fstat(file.get(), &status) != 0) {
    return where + ": " + std::strerror(errno);
  }
  if (!S_ISREG(status.st_mode)) {
    return where + " is not a regular file";
  }
  if ((status.st_mode & 077) != 0) {
    return where + " can be read by others than its owner; run: chmod 600 " + path_;
  }
  if (status.st_uid != geteuid() && status.st_uid != 0) {
    return where + " belongs to uid " + std::to_string(status.st_uid) +
           ", neither root nor the agent's own";
  }
  char buffer[kTokenLimit];
  const ssize_t length = read(file.get(), buffer, sizeof buffer);
  std::string text(buffer, length > 0 ? static_cast<size_t>(length) : 0);
  text.erase(text.find_last_not_of(" \t\r\n") + 1);
  text.erase(0, text.find_first_not_of(" \t\r\n\xef\xbb\xbf")); // and a byte-order mark
  if (text.empty() || text.find_first_of(" \t\r\n") != std::string::npos) {
    return where + " must hold one token and nothing else";
  }
  const std::lock_guard lock(mutex_);
  value_ = text;
  return "";
}

std::string Token::value() const {
  const std::lock_guard lock(mutex_);
  return value_;
}

ServiceClient::ServiceClient(const Services &services, const Token &token, const Trust &trust)
    : services_(services), token_(token), trust_(trust) {
  connect_to(services.current());
}

void ServiceClient::connect_to(size_t service) {
  const ServiceAddress &address = services_.at(service);
  std::string files = address.encrypted ? state_of_files(trust_) : "";
  std::unique_ptr<httplib::ClientImpl> made;
  if (address.encrypted) {
    made = encrypted_client(address, trust_);
    const bool is_good = has_good_files(*made, trust_);
    ERR_clear_error(); // a connection must not take it for its own
    if (!is_good && !std::exchange(are_files_refused_, true)) {
      spdlog::warn(
          "the files of --service-ca, --tls-cert and --tls-key cannot be used as they are; "
          "a connection goes on with the last ones that could");
    }
    are_files_refused_ = !is_good;
    if (!is_good && http_ && service == connected_to_) {
      return;
    }
    files = is_good ? files : "";
  } else if (address.loopback) {
    made = std::make_unique<LocalClient>(address, trust_.users, unproven_);
  } else {
    made = std::make_unique<httplib::ClientImpl>(address.host, address.port);
  }
  made->set_keep_alive(true);
  made->set_tcp_nodelay(true); // head and body are two writes: 40 ms of delayed ACK otherwise
  made->set_connection_timeout(kConnectWithin);
  made->set_read_timeout(kTimeout);
  made->set_write_timeout(kTimeout);
  const std::lock_guard lock(mutex_);
  http_ = std::move(made);
  connected_to_ = service;
  files_ = std::move(files);
}

bool ServiceClient::has_other_files() const {
  return services_.at(connected_to_).encrypted && state_of_files(trust_) != files_;
}

ServiceClient::~ServiceClient() = default;

void ServiceClient::break_off() {
  is_broken_off_ = true;
  const std::lock_guard lock(mutex_);
  http_->stop();
}

Reply ServiceClient::request(const std::string &method, const std::string &path,
                             const std::string &body) {
  try {
    if (const size_t service = services_.current(); service != connected_to_ || has_other_files()) {
      connect_to(service);
    }
    const ServiceAddress &address = services_.at(connected_to_);
    // At a UNIX socket the kernel names the caller.
    const bool in_session = trust_.sessions != nullptr && address.socket_path.empty();
    Reply reply =
        in_session ? send_in_session(method, path, body) : send(method, path, body, token_.value());
    reply.service = connected_to_;
    return reply;
  } catch (const std::exception &error) {
    Reply reply;
    reply.service = connected_to_;
    reply.error = error.what();
    return reply;
  }
}

Reply ServiceClient::send(const std::string &method, const std::string &path,
                          const std::string &body, const std::string &token) {
  const bool kept = http_->is_socket_open() != 0;
  bool connection_lost = false;
  const auto sent_at = std::chrono::steady_clock::now();
  Reply reply = send_once(method, path, body, token, connection_lost);
  if (connection_lost && kept) {
    reply = send_once(method, path, body, token, connection_lost);
  }
  reply.sent_at = sent_at;
  return reply;
}

std::string ServiceClient::session_token(Reply &reply) {
  if (std::string token = trust_.sessions->token(connected_to_); !token.empty()) {
    return token;
  }
  std::string why;
  const std::string request = trust_.sessions->request(why);
  if (request.empty()) {
    reply.error = why;
    return "";
  }
  reply = send("POST", kSessionPath, request, "");
  if (reply.status == kOk && !trust_.sessions->take(connected_to_, reply.body)) {
    reply = {};
    reply.error = std::string("its answer to POST ") + kSessionPath + " is not one";
  }
  return reply.status == kOk ? trust_.sessions->token(connected_to_) : "";
}

// A session may end early: the service got another key, or this node another address.
Reply ServiceClient::send_in_session(const std::string &method, const std::string &path,
                                     const std::string &body) {
  Reply reply;
  for (int attempt = 0; attempt < 2; ++attempt) {
    const std::string token = session_token(reply);
    if (token.empty()) {
      return reply;
    }
    reply = send(method, path, body, token);
    if (reply.status != kUnauthenticated) {
      return reply;
    }
    trust_.sessions->refused(connected_to_, token);
  }
  return reply;
}

Reply ServiceClient::send_once(const std::string &method, const std::string &path,
                               const std::string &body, const std::string &token,
                               bool &connection_lost) {
  httplib::Request request;
  request.method = method;
  request.path = services_.at(connected_to_).prefix + path;
  request.headers.emplace("Accept", "application/json");
  request.headers.emplace(kVersionHeader, SES_AGENT_VERSION);
  if (!body.empty()) {
    request.headers.emplace("Content-Type", "application/json");
    request.body = body;
  }
  const ServiceAddress &address = services_.at(connected_to_);
  if (!token.empty() && (address.encrypted || address.loopback)) {
    request.headers.emplace("Authorization", "Bearer " + token);
  }
  Reply reply;
  if (is_broken_off_) {
    reply.error = "the agent stops";
    return reply;
  }
  unproven_.clear();
  const auto started = std::chrono::steady_clock::now();
  // A read time-out alone lets a peer that drips bytes hold the thread for ever.
  request.content_receiver = [&](const char *data, size_t length, uint64_t, uint64_t) {
    reply.body.append(data, length);
    return reply.body.size() <= kReplyLimit &&
           std::chrono::steady_clock::now() - started < 2 * kTimeout;
  };
  const httplib::Result result = http_->send(request);
  const auto taken = std::chrono::steady_clock::now() - started;
  connection_lost =
      !result && taken < kTimeout / 2 &&
      (result.error() == httplib::Error::Read || result.error() == httplib::Error::Write);
  if (!result) {
    reply.timed_out = result.error() == httplib::Error::Read && taken >= kTimeout / 2;
    reply.nobody_there = result.error() == httplib::Error::Connection;
    if (result.error() == httplib::Error::SSLLoadingCerts) {
      files_.clear(); // it was replaced at that moment, and is read once only
    }
    reply.error = reply.timed_out ? "no reply within " + std::to_string(kTimeout.count()) + " ms"
                  : !unproven_.empty() ? unproven_
                                       : words_of(result.error(), *http_);
    reply.body.clear();
    return reply;
  }
  if (const std::string version = result->get_header_value(kVersionHeader);
      is_other_major(version)) {
    reply.error = "it is ses-service " + version.substr(0, kVersionShown) + " and this agent " +
                  SES_AGENT_VERSION +
                  ": of different major versions they do not understand each "
                  "other; upgrade the older one";
    reply.body.clear();
    return reply;
  }
  reply.status = result->status;
  reply.retry_after = retry_after_of(*result);
  return reply;
}

} // namespace ses::agent
