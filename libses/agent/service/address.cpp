#include "service/address.h"

#include <arpa/inet.h>
#include <netinet/in.h>

#include <algorithm>
#include <cstring>

namespace ses::agent {
namespace {

constexpr const char *kSocketScheme = "unix:";

bool is_loopback(const std::string &host) {
  in_addr v4{};
  in6_addr v6{};
  return host == "localhost" ||
         (inet_pton(AF_INET, host.c_str(), &v4) == 1 && ntohl(v4.s_addr) >> 24 == 127) ||
         (inet_pton(AF_INET6, host.c_str(), &v6) == 1 && IN6_IS_ADDR_LOOPBACK(&v6));
}

// Host and port of AUTHORITY; the port stays as it is when there is none.
bool split_authority(const std::string &authority, std::string &host, int &port) {
  const bool bracketed = authority.starts_with('[');
  const size_t end = bracketed ? authority.find(']') : authority.find(':');
  if (bracketed && end == std::string::npos) {
    return false;
  }
  host = authority.substr(bracketed ? 1 : 0, end - (bracketed ? 1 : 0));
  const std::string rest =
      end == std::string::npos ? "" : authority.substr(end + (bracketed ? 1 : 0));
  if (rest.empty()) {
    return !host.empty();
  }
  const std::string digits = rest.substr(1);
  if (rest[0] != ':' || digits.empty() || digits.size() > 5 ||
      digits.find_first_not_of("0123456789") != std::string::npos) {
    return false;
  }
  port = std::stoi(digits);
  return !host.empty() && port > 0 && port < 65536;
}

} // namespace

std::optional<ServiceAddress> parse_service_url(const std::string &url, std::string &why) {
  ServiceAddress address;
  address.url = url;
  if (url.starts_with(kSocketScheme)) {
    address.socket_path = url.substr(std::strlen(kSocketScheme));
    address.loopback = true;
    if (!address.socket_path.starts_with('/')) {
      why = "'" + url +
            "' names no socket by its whole path, such as unix:/run/qstorman/service.sock";
      return std::nullopt;
    }
    return address;
  }
  address.encrypted = url.starts_with("https://");
  if (!address.encrypted && !url.starts_with("http://")) {
    why =
        "'" + url + "' is not a URL of the service: it must start with https://, http:// or unix:/";
    return std::nullopt;
  }
  const size_t host_at = address.encrypted ? 8 : 7;
  const size_t path_at = std::min(url.find('/', host_at), url.size());
  const std::string authority = url.substr(host_at, path_at - host_at);
  address.port = address.encrypted ? 443 : 80;
  if (authority.find_first_of("@?# ") != std::string::npos ||
      !split_authority(authority, address.host, address.port)) {
    why = "'" + url + "' names no host, or holds more than a host, a port and a path";
    return std::nullopt;
  }
  address.prefix = url.substr(path_at);
  while (address.prefix.ends_with('/')) {
    address.prefix.pop_back();
  }
  address.loopback = is_loopback(address.host);
  return address;
}

} // namespace ses::agent
