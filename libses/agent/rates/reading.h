// Who reads how fast from which element of this node's storage systems (Reading of
// ses-service/openapi.yaml).
#ifndef SES_AGENT_READING_H
#define SES_AGENT_READING_H

#include <string>
#include <tuple>
#include <vector>

namespace ses::agent {

struct Reading {
  std::string system, element, user;
  unsigned files = 0;
  double bytes_per_second = 0; // of all of them together

  [[nodiscard]] auto key() const { return std::tie(system, element, user); }
};

// Both say the same, but for rates that differ by less than a quarter.  Rows are in the order of
// their keys.  Pure.
[[nodiscard]] bool is_alike(const std::vector<Reading> &a, const std::vector<Reading> &b);

} // namespace ses::agent

#endif // SES_AGENT_READING_H
