#include "service_client.h"

#include <fcntl.h>
#include <httplib.h>
#include <sys/stat.h>

#include <cerrno>
#include <cstring>
#include <exception>

#include "unique_fd.h"

namespace ses::agent {
namespace {

constexpr size_t kReplyLimit = 4u << 20;
constexpr size_t kTokenLimit = 4096;
constexpr long kRetryAfterLimitSeconds = 60;

std::optional<std::chrono::milliseconds> retry_after_of(const httplib::Response &response) {
  const std::string text = response.get_header_value("Retry-After");
  if (text.empty() || text.find_first_not_of("0123456789") != std::string::npos) {
    return std::nullopt; // absent, or a date, which the service does not send
  }
  const long seconds = text.size() > 4 ? kRetryAfterLimitSeconds : std::stol(text);
  return std::chrono::seconds(std::min(seconds, kRetryAfterLimitSeconds));
}

} // namespace

std::optional<ServiceAddress> parse_service_url(const std::string &url, std::string &why) {
  const bool encrypted = url.starts_with("https://");
  if (!encrypted && !url.starts_with("http://")) {
    why = "'" + url + "' is not a URL of the service: it must start with http:// or https://";
    return std::nullopt;
  }
  const size_t host_at = encrypted ? 8 : 7;
  const size_t path_at = std::min(url.find('/', host_at), url.size());
  const std::string authority = url.substr(host_at, path_at - host_at);
  if (authority.empty() || authority.find_first_of("@?# ") != std::string::npos) {
    why = "'" + url + "' names no host, or holds more than a host, a port and a path";
    return std::nullopt;
  }
  ServiceAddress address;
  address.url = url;
  address.origin = url.substr(0, path_at);
  address.prefix = url.substr(path_at);
  while (address.prefix.ends_with('/')) {
    address.prefix.pop_back();
  }
  address.encrypted = encrypted;
  const std::string host = authority.substr(0, authority.rfind(':'));
  address.loopback = host == "localhost" || host == "[::1]" || host.starts_with("127.");
  return address;
}

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
  text.erase(0, text.find_first_not_of(" \t\r\n"));
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

ServiceClient::ServiceClient(const Services &services, const Token &token,
                             const std::string &ca_file, std::chrono::milliseconds time_out)
    : services_(services), token_(token), ca_file_(ca_file), time_out_(time_out) {
  connect_to(services.current());
}

void ServiceClient::connect_to(size_t service) {
  connected_to_ = service;
  http_ = std::make_unique<httplib::Client>(services_.at(service).origin);
  http_->set_keep_alive(true);
  http_->set_tcp_nodelay(true); // head and body are two writes: 40 ms of delayed ACK otherwise
  http_->set_connection_timeout(time_out_);
  http_->set_read_timeout(time_out_);
  http_->set_write_timeout(time_out_);
  if (!ca_file_.empty()) {
    http_->set_ca_cert_path(ca_file_);
  }
}

ServiceClient::~ServiceClient() = default;

Reply ServiceClient::request(const std::string &method, const std::string &path,
                             const std::string &body) {
  try {
    if (const size_t service = services_.current(); service != connected_to_) {
      connect_to(service);
    }
    const bool kept = http_->is_socket_open() != 0;
    bool connection_lost = false;
    const auto sent_at = std::chrono::steady_clock::now();
    Reply reply = send_once(method, path, body, connection_lost);
    if (connection_lost && kept) {
      reply = send_once(method, path, body, connection_lost);
    }
    reply.service = connected_to_;
    reply.sent_at = sent_at;
    return reply;
  } catch (const std::exception &error) {
    Reply reply;
    reply.service = connected_to_;
    reply.error = error.what();
    return reply;
  }
}

Reply ServiceClient::send_once(const std::string &method, const std::string &path,
                               const std::string &body, bool &connection_lost) {
  httplib::Request request;
  request.method = method;
  request.path = services_.at(connected_to_).prefix + path;
  request.headers.emplace("Accept", "application/json");
  if (!body.empty()) {
    request.headers.emplace("Content-Type", "application/json");
    request.body = body;
  }
  if (const std::string token = token_.value(); !token.empty()) {
    request.headers.emplace("Authorization", "Bearer " + token);
  }
  Reply reply;
  const auto started = std::chrono::steady_clock::now();
  // A read time-out alone lets a peer that drips bytes hold the thread for ever.
  request.content_receiver = [&](const char *data, size_t length, uint64_t, uint64_t) {
    reply.body.append(data, length);
    return reply.body.size() <= kReplyLimit &&
           std::chrono::steady_clock::now() - started < 2 * time_out_;
  };
  const httplib::Result result = http_->send(request);
  const auto taken = std::chrono::steady_clock::now() - started;
  connection_lost =
      !result && taken < time_out_ / 2 &&
      (result.error() == httplib::Error::Read || result.error() == httplib::Error::Write);
  if (!result) {
    reply.timed_out = result.error() == httplib::Error::Read && taken >= time_out_ / 2;
    reply.nobody_there = result.error() == httplib::Error::Connection;
    reply.error = reply.timed_out ? "no reply within " + std::to_string(time_out_.count()) + " ms"
                                  : "HTTP: " + httplib::to_string(result.error());
    reply.body.clear();
    return reply;
  }
  reply.status = result->status;
  reply.retry_after = retry_after_of(*result);
  return reply;
}

} // namespace ses::agent
