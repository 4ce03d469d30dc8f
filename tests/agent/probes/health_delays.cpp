// health_delays TIMES SECONDS WITHIN: what many agents do that fail together, TIMES in a row, at a
// service that asks to be left alone for SECONDS, and nodes to come back within WITHIN ms.
// Prints, of each failure, the shortest and the longest delay beyond that, in ms, of AGENTS
// agents.
//
// health_delays looks: whether a program's need makes one of them look at once, in the order below.
#include <spdlog/spdlog.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <cstring>

#include "service/health.h"

namespace {

using namespace ses::agent;
using std::chrono::milliseconds;

constexpr int kAgents = 1000;
constexpr std::chrono::hours kPace{1}; // far from over when this program ends

Reply failed_reply(bool nobody_there) {
  Reply reply;
  reply.error = "not there";
  reply.nobody_there = nobody_there;
  return reply;
}

int print_looks() {
  Services services({ServiceAddress{.url = "http://s"}});
  ServiceHealth health(services, "");
  const auto say = [&](const char *when) {
    std::printf("%s: %d\n", when, health.needed(kPace) ? 1 : 0);
  };
  say("before the first look");
  health.failed("slow", failed_reply(false));
  say("somebody is there, who does not answer");
  health.failed("none", failed_reply(true));
  say("nobody is there");
  std::printf("at once: %d\n", health.retry_at() <= Clock::now() ? 1 : 0);
  say("while that look is under way");
  health.failed("none", failed_reply(true));
  say("nobody is there still, a moment later");
  (void)health.answered();
  say("while the service is there");
  return 0;
}

} // namespace

int main(int argc, char **argv) {
  spdlog::set_level(spdlog::level::off);
  if (argc == 2 && std::strcmp(argv[1], "looks") == 0) {
    return print_looks();
  }
  if (argc != 4) {
    return 2;
  }
  const int times = std::atoi(argv[1]);
  const milliseconds asked{std::atoi(argv[2]) * 1000};
  std::vector<long> least(static_cast<size_t>(times), 1L << 40), most(least.size(), -(1L << 40));
  for (int agent = 0; agent < kAgents; ++agent) {
    Services services({ServiceAddress{.url = "http://s"}});
    ServiceHealth health(services, "");
    (void)health.answered();
    health.worked(milliseconds{std::atoi(argv[3])});
    for (size_t time = 0; time < least.size(); ++time) {
      Reply reply;
      reply.status = 503;
      reply.retry_after = asked;
      const auto before = Clock::now();
      health.failed("busy", reply);
      const auto beyond =
          std::chrono::duration_cast<milliseconds>(health.retry_at() - before - asked).count();
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
