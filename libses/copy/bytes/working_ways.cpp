#include "bytes/working_ways.h"

#include <cstring>

namespace ses::copy {

std::optional<Way> WorkingWays::first(Devices devices, Way from, bool direct_pays) const {
  const std::lock_guard lock(mutex_);
  const auto known = errors_.find(devices);
  for (const Way way : kWays) {
    const bool refused =
        known != errors_.end() && known->second[static_cast<std::size_t>(way)] != 0;
    const bool wanted = only_ ? way == *only_ : way != Way::kDirect || direct_pays;
    if (way >= from && wanted && !refused) {
      return way;
    }
  }
  return std::nullopt;
}

void WorkingWays::refuse(Devices devices, Way way, int error) {
  const std::lock_guard lock(mutex_);
  errors_[devices][static_cast<std::size_t>(way)] = error;
}

std::map<std::string, std::string> WorkingWays::refused() const {
  const std::lock_guard lock(mutex_);
  std::map<std::string, std::string> reasons;
  for (const auto &[devices, errors] : errors_) {
    for (const Way way : kWays) {
      if (const int error = errors[static_cast<std::size_t>(way)]; error != 0) {
        reasons.emplace(name_of(way), std::strerror(error));
      }
    }
  }
  return reasons;
}

} // namespace ses::copy
