// Where a service is asked.  Pure.
#ifndef SES_AGENT_SERVICE_ADDRESS_H
#define SES_AGENT_SERVICE_ADDRESS_H

#include <optional>
#include <string>

namespace ses::agent {

// One of the services that may be asked.
struct ServiceAddress {
  std::string url;  // as given
  std::string host; // without the brackets of an IPv6 address; empty for a UNIX socket
  int port = 0;
  std::string socket_path; // empty for TCP
  std::string prefix;      // path before /v1, without a slash at the end; often empty
  bool loopback = false;   // a UNIX socket, too
  bool encrypted = false;
};

// None when URL is not https:// or http:// with a host, or unix: with a path; WHY then says so.
[[nodiscard]] std::optional<ServiceAddress> parse_service_url(const std::string &url,
                                                              std::string &why);

} // namespace ses::agent

#endif // SES_AGENT_SERVICE_ADDRESS_H
