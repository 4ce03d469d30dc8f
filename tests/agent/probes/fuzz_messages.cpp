// Mutates good messages and feeds them to everything in the agent that reads what others wrote:
// questions, reports and claims of programs, answers of the service, what was kept on disk.
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

#include "announcements/announcement.h"
#include "claims/claim_ring.h"
#include "protocol/wire.h"
#include "service/messages.h"
#include "systems/systems.h"
#include "table/candidates.h"
#include "table/choice.h"

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

ses_claim good_claim() {
  ses_claim claim{};
  claim.state = 2 * 5 + 2;
  claim.outcome = SES_OUTCOME_CREATED;
  claim.row_count = 2;
  claim.rows[1] = 1;
  claim.need.count = 1;
  claim.need.requirements[0] = {SES_CORE_CURRENT_WRITE, 1, 0, 1e6, 1.0};
  std::strcpy(claim.application, "simulate");
  std::strcpy(claim.path, "/mnt/file");
  claim.path_length = 9;
  claim.first = 1;
  claim.rank = 5;
  claim.ranks = 8;
  return claim;
}

// What is understood of tables is worked with.
void use(const TableAnswer &table, const Claim &claim, const ses_rank &asked) {
  Candidates candidates(table.system);
  const auto now = Candidates::Time{} + std::chrono::hours(1);
  if (!candidates.apply(table, now) || candidates.size() == 0) {
    return;
  }
  candidates.add(0, 1e9);
  auto epoch = std::make_shared<Epoch>();
  epoch->facts = candidates.facts();
  epoch->elements = candidates.elements(now);
  epoch->ages.assign(candidates.size(), 0);
  epoch->policy = candidates.policy();
  std::vector<uint8_t> rows = claim.rows;
  std::erase_if(rows, [&](uint8_t row) { return row >= candidates.size(); });
  Choice choice;
  choice.epoch = epoch;
  choice.need = claim.need;
  choice.rank = claim.rank;
  choice.first = std::max(candidates.first(asked), claim.first);
  choice.few = std::min(candidates.few(now, asked), claim.few);
  choice.rows = rows.empty() ? std::vector<uint8_t>{0} : rows;
  (void)distance_of(choice);
  (void)predicted(choice);
  (void)decision_json(choice);
}

std::vector<std::string> good_messages() {
  auto ask = message_of<ses_ask>(SES_MESSAGE_ASK);
  ask.expected_bytes = 1 << 20;
  ask.requirement_count = 2;
  ask.rank = {5, 8, 4, 42};
  for (auto &requirement : ask.requirements) {
    requirement = {SES_KIND_CURRENT_READ_RATE, 1, 10.0, 1.0};
  }
  std::strcpy(ask.application, "simulate");
  auto report = message_of<ses_report>(SES_MESSAGE_REPORT);
  report.outcome = SES_OUTCOME_CREATED;
  return {
      bytes_of(ask),
      bytes_of(report),
      R"({"storage_systems":[{"name":"union","backend":"lustre","mount_point":"/mnt","elements":8}]})",
      R"({"instance":"00000000000000cd","next_within_seconds":5.0,"stored":3,"unknown":["00000000000000ab"],)"
      R"("refused":[{"placement_id":"00000000000000ab","detail":"no"}],"open":[{"placement_id":)"
      R"("00000000000000ab","user":"alice","device":65024,"inode":"18446744073709551615",)"
      R"("path":"/a","pid":12}],"tables":[{"system":"union","revision":"r","version":7,"told_at":1.5,)"
      R"("total":2,"rate":1.5,"max_age_seconds":6,"policy":{"plenty":2,"overrule_hints":false},)"
      R"("elements":[{"element":"union/b1","target":"/b1","number":1,"server":1,"scarce":true,"read_rate":1e8,)"
      R"("write_rate":null,"size":1e12,"stated":[1.5,null]},{"element":"union/b2","target":"/b2"}],)"
      R"("loads":[[0,0.5,null,1.5,0,2,1,3,1e9,0,0.25,4,17],[1,null,null,0,0,0,0,0,null,0,null,0,0]]}],)"
      R"("needs":[{"user":"alice","application":null,"generation":"g","requirements":[{"kind":"x",)"
      R"("code":3,"bound":5e7,"weight":1.5,"hard":true,"at_most":false}],"room_bytes":1e9}]})",
      bytes_of(good_claim()),
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

void read_as_everything(const std::string &text) {
  static ses_rank rank{};
  static Claim claimed;
  const auto message = std::as_bytes(std::span(text));
  if (const auto ask = parse_ask(message)) {
    understood += ask->application.size() < SES_APPLICATION_MAX;
    rank = ask->rank;
  }
  if (const auto report = parse_report(message)) {
    ++understood;
  }
  understood += parse_storage_systems(text).has_value();
  understood += !problem_detail(text).empty();
  if (text.size() == sizeof(ses_claim)) {
    ses_claim shared;
    std::memcpy(&shared, text.data(), sizeof shared);
    if (const auto claim = parse_claim(shared, 5)) {
      ++understood;
      claimed = *claim;
    }
  }
  if (const auto reply = parse_announcement_reply(text)) {
    ++understood;
    for (const TableAnswer &table : reply->tables) {
      use(table, claimed, rank);
    }
    for (const auto &[user, needs] : reply->needs) {
      understood += needs->of("tar") != nullptr;
    }
  }
  understood += parse_mountinfo(text).size();
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
    read_as_everything(text);
    if (understood == before) {
      std::fprintf(stderr, "a good message is not understood: %s\n", text.c_str());
      return 1;
    }
  }
  for (unsigned long long round = std::strtoull(argv[2], nullptr, 10); round > 0; --round) {
    read_as_everything(mutated(good[random() % good.size()], good, random));
  }
  std::printf("%zu understood\n", understood);
  return 0;
}
