#include "server/rate_limit.h"

#include <algorithm>

namespace ses::agent {
namespace {

constexpr size_t kMaxUsers = 4096; // then those who have not asked for a second are forgotten

} // namespace

bool RateLimit::take(uid_t uid, Time now) {
  if (buckets_.size() >= kMaxUsers && !buckets_.contains(uid)) {
    std::erase_if(buckets_, [&](const auto &entry) {
      return now - entry.second.at > std::chrono::seconds(1);
    });
  }
  const auto [entry, first] = buckets_.try_emplace(uid, Bucket{per_second_, now});
  Bucket &bucket = entry->second;
  const double passed = std::chrono::duration<double>(now - bucket.at).count();
  bucket.tokens = std::min(per_second_, bucket.tokens + passed * per_second_);
  bucket.at = now;
  if (bucket.tokens < 1) {
    return false;
  }
  bucket.tokens -= 1;
  return true;
}

} // namespace ses::agent
