// health_delays TIMES SECONDS: what many agents do that fail together, TIMES in a row, at a service
// that wishes to be left alone for SECONDS.  Prints, of each failure, the shortest and the longest
// delay beyond that wish, in ms, of AGENTS agents.
#include <spdlog/spdlog.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>

#include "service_health.h"

namespace {

using namespace ses::agent;
using std::chrono::milliseconds;

constexpr int kAgents = 1000;

} // namespace

int main(int argc, char **argv) {
  if (argc != 3) {
    return 2;
  }
  spdlog::set_level(spdlog::level::off);
  const int times = std::atoi(argv[1]);
  const milliseconds wish{std::atoi(argv[2]) * 1000};
  std::vector<long> least(static_cast<size_t>(times), 1L << 40), most(least.size(), -(1L << 40));
  for (int agent = 0; agent < kAgents; ++agent) {
    Services services({ServiceAddress{"http://s", "http://s", "", false, false}});
    ServiceHealth health(services);
    (void)health.answered();
    for (size_t time = 0; time < least.size(); ++time) {
      Reply reply;
      reply.status = 503;
      reply.retry_after = wish;
      const auto before = Clock::now();
      health.failed("busy", reply);
      const auto beyond =
          std::chrono::duration_cast<milliseconds>(health.retry_at() - before - wish).count();
      least[time] = std::min<long>(least[time], beyond);
      most[time] = std::max<long>(most[time], beyond);
      if (health.available()) {
        return 1;
      }
    }
  }
  for (size_t time = 0; time < least.size(); ++time) {
    std::printf("%ld %ld\n", least[time], most[time]);
  }
  return 0;
}
