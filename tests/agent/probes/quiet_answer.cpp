// quiet_answer FILE...: answers of the service, each in a file of its own, as an agent gets them
// one after the other.  Prints of each whether it was parsed, and what was made of it.
#include <cstdio>
#include <fstream>
#include <iterator>

#include "announcements/quiet_answer.h"

using namespace ses::agent;

int main(int count, char **paths) {
  QuietAnswer quiet;
  for (int i = 1; i < count; ++i) {
    std::ifstream file(paths[i]);
    const std::string body{std::istreambuf_iterator<char>(file), {}};
    auto reply = quiet.read(body);
    std::printf("%s", reply ? "quiet" : "parsed");
    if (!reply) {
      reply = parse_announcement_reply(body);
      if (reply) {
        quiet.remember(body, *reply);
      }
    }
    if (!reply) {
      std::printf(" no answer\n");
      continue;
    }
    std::printf(" %s stored %llu next %lld", reply->instance.c_str(),
                static_cast<unsigned long long>(reply->stored),
                static_cast<long long>(reply->next_within.count()));
    for (const TableAnswer &table : reply->tables) {
      std::printf(" %s %s at %.3f", table.system.c_str(), table.revision.c_str(), table.sent_at);
    }
    std::printf("\n");
  }
}
