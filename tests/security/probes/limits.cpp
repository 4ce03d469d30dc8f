// What the ways into C and C++ say of requirements and names.  A line of input is "= KIND BASE
// WEIGHT" (base units), "@ NAME", which may be an application's, a job's or a user's, "# COUNT" of
// requirements, or "TEXT", as SES_REQUIRE and --storage have it; a line of output has the ways that
// take it, and for a text that is refused the sentence.  With an argument: what of the environment
// counts, and what was set aside.
#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <iostream>
#include <span>
#include <string>

#include <nlohmann/json.hpp>

#include "claims/claim_ring.h"
#include "processes/jobs.h"
#include "protocol/wire.h"
#include "service/needs.h"
#include "ses/ses.hpp"

extern "C" {
#include "request.h"
#include "settings/settings.h"
}

namespace {

double on_the_wire(uint32_t kind, double base) {
  return base / (kind == SES_KIND_FREE_CAPACITY ? 1e9 : 1e6);
}

ses_ask asking(uint32_t requirements) {
  ses_ask ask{};
  ask.header = {SES_PROTOCOL_MAGIC, SES_PROTOCOL_VERSION, SES_MESSAGE_ASK, sizeof ask, 0};
  ask.requirement_count = requirements;
  std::fill(std::begin(ask.requirements), std::end(ask.requirements),
            ses_wire_requirement{SES_KIND_FREE_CAPACITY, 0, 1, 1});
  return ask;
}

ses_claim claiming(uint32_t requirements) {
  ses_claim claim{};
  claim.state = 2;
  claim.outcome = SES_OUTCOME_CREATED;
  claim.row_count = 1;
  claim.need.count = requirements;
  std::fill(std::begin(claim.need.requirements), std::end(claim.need.requirements),
            ses_core_requirement{SES_CORE_FREE, 0, 0, 1, 1});
  return claim;
}

auto parsed(const ses_ask &ask) { return ses::agent::parse_ask(std::as_bytes(std::span(&ask, 1))); }

bool is_asked(uint32_t kind, double minimum, double weight) {
  ses_ask ask = asking(1);
  ask.requirements[0] = {kind, 0, minimum, weight};
  return parsed(ask).has_value();
}

bool is_claimed(uint32_t kind, double base, double weight) {
  ses_claim claim = claiming(1);
  claim.need.requirements[0] = {kind, 0, 0, base, weight};
  return ses::agent::parse_claim(claim, 0).has_value();
}

bool is_set(uint32_t kind, double minimum, double weight) {
  ses::StoragePolicy policy;
  const auto set = kind == SES_KIND_FREE_CAPACITY ? policy.setCapacity(minimum)
                                                  : policy.setCurrentWriteTransferRate(minimum);
  const auto weighed = policy.setWeight(static_cast<ses::Kind>(kind), weight);
  return set == SES_OK && weighed == SES_OK;
}

// As an answer of the service has it.
bool is_answered(uint32_t kind, double base, double weight) {
  const nlohmann::json requirement = {{"code", kind}, {"bound", base}, {"weight", weight}};
  const nlohmann::json other = {{"code", SES_CORE_CURRENT_READ}, {"bound", 1}, {"weight", 1}};
  const nlohmann::json entry = {{"user", "alice"}, {"requirements", {requirement, other}}};
  const auto needs = ses::agent::parse_needs(nlohmann::json::array({entry}));
  const ses_core_need &need = needs.at("alice")->needs.at(0).core;
  if (need.requirements[need.count - 1].kind != SES_CORE_CURRENT_READ) {
    std::abort(); // the other one was dropped with it
  }
  return need.count == 2;
}

void numbers(const char *line) {
  char *end = nullptr;
  const auto kind = static_cast<uint32_t>(std::strtoul(line, &end, 10));
  const double base = std::strtod(end, &end), weight = std::strtod(end, &end);
  const double minimum = on_the_wire(kind, base);
  std::printf("%s%s%s%s\n", is_answered(kind, base, weight) ? "answer " : "",
              is_asked(kind, minimum, weight) ? "socket " : "",
              is_claimed(kind, base, weight) ? "claim " : "",
              is_set(kind, minimum, weight) ? "policy" : "");
}

void names(const std::string &name) {
  ses_ask ask = asking(0);
  ses_claim claim = claiming(0);
  std::strncpy(ask.application, name.c_str(), sizeof ask.application);
  std::strncpy(claim.application, name.c_str(), sizeof claim.application);
  std::strncpy(claim.job, name.c_str(), sizeof claim.job);
  const auto asked = parsed(ask);
  const auto claimed = ses::agent::parse_claim(claim, 0).value();
  const auto group = "0::/system.slice/slurmstepd.scope/job_" + name + "/step_0\n";
  ses::StoragePolicy policy;
  std::printf("%s%s%s%s%s%s\n", policy.setApplication(name) == SES_OK ? "policy " : "",
              asked && asked->application == name ? "socket " : "",
              claimed.application == name ? "claim " : "", claimed.job == name ? "job " : "",
              ses::agent::job_in(group, 0) == name ? "group " : "",
              ses::agent::parse_job("user=" + name + "\n") == name ? "user" : "");
}

void counts(uint32_t count) {
  std::printf("%s%s\n", parsed(asking(count)) ? "socket " : "",
              ses::agent::parse_claim(claiming(count), 0) ? "claim" : "");
}

void text(const std::string &text) {
  ses_request request{};
  char why[400] = "";
  if (!ses_request_take(&request, text.c_str(), why, sizeof why)) {
    std::printf("%s\n", why);
    return;
  }
  ses_wire_requirement requirements[SES_REQUIRE_KINDS];
  const char *wrong = nullptr;
  (void)ses_require_parse(text.c_str(), requirements, &wrong);
  const double unit = requirements[0].kind == SES_KIND_FREE_CAPACITY ? 1e9 : 1e6;
  const bool goes_on =
      is_asked(requirements[0].kind, requirements[0].minimum, requirements[0].weight) &&
      is_claimed(requirements[0].kind, requirements[0].minimum * unit, requirements[0].weight) &&
      is_set(requirements[0].kind, requirements[0].minimum, requirements[0].weight);
  std::printf("taken%s\n", goes_on ? "" : ", but not by the next");
}

} // namespace

int main(int argc, char **) {
  const struct ses_settings &own = *ses_settings();
  if (argc > 1) {
    const auto or_empty = [](const char *text) { return text != nullptr ? text : ""; };
    std::printf("%s\n%s\n%s\n%s\n", own.application, or_empty(own.application_wrong), own.job,
                or_empty(own.job_wrong));
    return 0;
  }
  for (std::string line; std::getline(std::cin, line);) {
    switch (line[0]) {
    case '=':
      numbers(line.c_str() + 1);
      break;
    case '@':
      names(line.substr(2));
      break;
    case '#':
      counts(static_cast<uint32_t>(std::stoul(line.substr(2))));
      break;
    default:
      text(line);
    }
  }
}
