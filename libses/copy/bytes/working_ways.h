// Which ways work between which file systems, learned from the kernel's answers, with the reasons.
#ifndef SES_COPY_WORKING_WAYS_H
#define SES_COPY_WORKING_WAYS_H

#include <sys/types.h>

#include <array>
#include <map>
#include <mutex>
#include <optional>
#include <string>
#include <utility>

#include "bytes/way.h"

namespace ses::copy {

using Devices = std::pair<dev_t, dev_t>; // of source and target

class WorkingWays {
public:
  // ONLY: no other way is to be used.
  explicit WorkingWays(std::optional<Way> only) : only_(only) {}

  // The cheapest way that may work and costs at least as much as FROM; none: every one was refused.
  // Without DIRECT_PAYS, kDirect is left out unless it is the only one allowed.
  std::optional<Way> first(Devices devices, Way from, bool direct_pays) const;

  // The same among those that cost more than TRIED.
  std::optional<Way> next(Devices devices, Way tried, bool direct_pays) const {
    return tried == kWays.back()
               ? std::nullopt
               : first(devices, static_cast<Way>(static_cast<int>(tried) + 1), direct_pays);
  }

  // WAY did not work between them, for this errno.
  void refuse(Devices devices, Way way, int error);

  // What was refused: way and the system's text for why, once each.
  [[nodiscard]] std::map<std::string, std::string> refused() const;

private:
  const std::optional<Way> only_;
  mutable std::mutex mutex_;
  std::map<Devices, std::array<int, kWays.size()>> errors_;
};

} // namespace ses::copy

#endif // SES_COPY_WORKING_WAYS_H
