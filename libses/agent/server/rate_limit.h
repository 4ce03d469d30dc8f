// How many questions of each user are answered in a second (a token bucket per uid).
//
// No I/O, threads or clock.  A user who asks no more than the rate is never refused; after a pause
// a second's worth may come at once.
#ifndef SES_AGENT_RATE_LIMIT_H
#define SES_AGENT_RATE_LIMIT_H

#include <sys/types.h>

#include <chrono>
#include <unordered_map>

namespace ses::agent {

class RateLimit {
public:
  using Time = std::chrono::steady_clock::time_point;

  explicit RateLimit(unsigned per_second) : per_second_(per_second) {}

  // False when UID asked too much recently.
  [[nodiscard]] bool take(uid_t uid, Time now);

private:
  struct Bucket {
    double tokens = 0;
    Time at{};
  };

  const double per_second_;
  std::unordered_map<uid_t, Bucket> buckets_;
};

} // namespace ses::agent

#endif // SES_AGENT_RATE_LIMIT_H
