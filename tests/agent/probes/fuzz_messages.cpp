// Mutates good messages and feeds them to everything in the agent that reads what others wrote:
// questions and reports of programs, answers of the service, what was kept on disk.
//
// Built with sanitizers, which end it when something is wrong; it checks nothing but that what was
// understood can be used.  Usage: fuzz_messages SEED ROUNDS

#include <sys/types.h>

#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <functional>
#include <random>
#include <string>
#include <vector>

#include "announcement.h"
#include "cut_off.h"
#include "service_messages.h"
#include "snapshot.h"
#include "systems.h"
#include "wire.h"

using namespace ses::agent;

namespace {

template <typename T> std::string bytes_of(const T &message) {
  return std::string(reinterpret_cast<const char *>(&message), sizeof message);
}

template <typename T> T message_of(uint16_t type) {
  T message{};
  message.header = ses_header{SES_PROTOCOL_MAGIC, SES_PROTOCOL_VERSION, type, sizeof message, 0};
  return message;
}

std::vector<std::string> good_messages() {
  auto ask = message_of<ses_ask>(SES_MESSAGE_ASK);
  ask.expected_bytes = 1 << 20;
  ask.requirement_count = 2;
  for (auto &requirement : ask.requirements) {
    requirement = {SES_KIND_CURRENT_READ_RATE, 1, 10.0, 1.0};
  }
  std::strcpy(ask.application, "simulate");
  auto report = message_of<ses_report>(SES_MESSAGE_REPORT);
  report.outcome = SES_OUTCOME_CREATED;
  return {
      bytes_of(ask),
      bytes_of(report),
      R"({"placements":[{"placement_id":"00000000000000ab","element":"union/b1","backend":"mergerfs",)"
      R"("target":"/srv/b1","distance":0.5,"stripe_count":1,"stripe_size_bytes":null,)"
      R"("elements":[{"element":"union/b1","target":"/srv/b1"}],"lease_until":1.5}],)"
      R"("selection":{"requirements":[{"kind":"free-capacity","minimum":1,"unit":"GB","weight":1,)"
      R"("strictness":"hard"}]}})",
      R"({"storage_systems":[{"name":"union","backend":"lustre","mount_point":"/mnt","elements":8}]})",
      R"({"instance":"00000000000000cd","next_within_seconds":5.0,"unknown":["00000000000000ab"],)"
      R"("refused":[{"placement_id":"00000000000000ab","detail":"no"}],"open":[{"placement_id":)"
      R"("00000000000000ab","user":"alice","device":65024,"inode":"18446744073709551615",)"
      R"("path":"/a","pid":12}],"applications":{"alice":["dd","tar"]},"snapshot":{"decided_at":1.0}})",
      R"({"decided_at":1763700000.5,"elements_total":2,"arrival_rate":10.5,"elements":[{"element":)"
      R"("union/b1","storage_system":"union","backend":"mergerfs","target":"/srv/b1","state":"active",)"
      R"("capability":{"read_mb_s":100,"write_mb_s":100},"available":{"read_mb_s":50,"write_mb_s":null},)"
      R"("free_gb":10}]})",
      "36 35 98:0 /mnt1 /mnt\\0402 rw,noatime master:1 - ext3 /dev/root rw\n",
      R"({"type":"x","title":"overloaded","status":503,"detail":"later"})",
  };
}

std::string mutated(std::string text, const std::vector<std::string> &all,
                    std::mt19937_64 &random) {
  const auto below = [&](size_t most) { return most == 0 ? 0 : random() % most; };
  for (size_t times = 1 + below(6); times > 0; --times) {
    const size_t at = below(text.size() + 1);
    switch (below(7)) {
    case 0:
      text.resize(at);
      break;
    case 1:
      text.insert(at, 1 + below(40), static_cast<char>(random()));
      break;
    case 2:
      text.erase(at, 1 + below(20));
      break;
    case 3: {
      const std::string &other = all[below(all.size())];
      text.insert(at, other, below(other.size()), below(200));
      break;
    }
    case 4: {
      static const char *const kOdd[] = {"null", "-1",   "1e999", "18446744073709551616", "[[[[[[",
                                         "{}",   "\"\"", "NaN",   "\"\\ud800\"",          "\\400"};
      text.insert(at, kOdd[below(std::size(kOdd))]);
      break;
    }
    default:
      if (at < text.size()) {
        text[at] = below(2) != 0 ? static_cast<char>(random())
                                 : static_cast<char>(text[at] ^ (1 << below(8)));
      }
    }
  }
  return text;
}

size_t understood = 0;

void read_as_everything(const std::string &text, std::mt19937_64 &random) {
  const auto message = std::as_bytes(std::span(text));
  if (const auto ask = parse_ask(message)) {
    understood += ask->application.size() < SES_APPLICATION_MAX;
  }
  if (const auto report = parse_report(message)) {
    ++understood;
  }
  if (auto placements = parse_placements(text)) {
    for (const Placement &placement : *placements) {
      understood += make_place_answer(placement, 0, 0).has_value();
    }
  }
  understood += parse_resolved(text).has_value();
  understood += parse_storage_systems(text).has_value();
  understood += !problem_detail(text).empty();
  understood += parse_announcement_reply(text).has_value();
  understood += parse_mountinfo(text).size();
  if (const auto snapshot = parse_snapshot(text)) {
    const std::map<std::string, unsigned> own;
    const CutOffQuestion question{
        "union", {{SES_KIND_CURRENT_WRITE_RATE, false, 1, 1}}, 1, {}, own, 1763700100};
    std::uniform_real_distribution<double> chance(0, 1);
    understood += choose_cut_off(*snapshot, question, [&] { return chance(random); }).has_value();
  }
}

} // namespace

int main(int argc, char **argv) {
  if (argc != 3) {
    std::fprintf(stderr, "usage: fuzz_messages SEED ROUNDS\n");
    return 2;
  }
  std::mt19937_64 random(std::strtoull(argv[1], nullptr, 10));
  const std::vector<std::string> good = good_messages();
  for (const std::string &text : good) {
    const size_t before = understood;
    read_as_everything(text, random);
    if (understood == before) {
      std::fprintf(stderr, "a good message is not understood: %s\n", text.c_str());
      return 1;
    }
  }
  for (unsigned long long round = std::strtoull(argv[2], nullptr, 10); round > 0; --round) {
    read_as_everything(mutated(good[random() % good.size()], good, random), random);
  }
  std::printf("%zu understood\n", understood);
  return 0;
}
