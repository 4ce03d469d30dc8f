#include "table/choice.h"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <nlohmann/json.hpp>

namespace ses::agent {
namespace {

using nlohmann::json;

// Which process of its job the program is, and where that made it begin; null: none.
json rank_json(const Choice &choice) {
  const ses_rank &rank = choice.rank;
  const auto &rows = choice.epoch->facts->rows;
  if (rank.ranks == 0 || choice.first >= rows.size()) {
    return nullptr;
  }
  const bool is_known = rank.ranks != SES_RANKS_NOT_KNOWN;
  return {{"number", rank.rank},
          {"of", is_known ? json(rank.ranks) : json(nullptr)},
          {"begins_at", rows[choice.first].element}};
}

// How many of the nearest rows were compared, where that was not all; null: it was.
json compared_json(const Choice &choice) {
  return choice.few != 0 && choice.few < choice.epoch->elements.size() ? json(choice.few)
                                                                       : json(nullptr);
}

json or_null(double number) { return std::isfinite(number) ? json(number) : json(nullptr); }

const char *reason_name(uint8_t refusal) {
  switch (refusal) {
  case SES_CORE_REFUSED_INACTIVE:
    return "inactive";
  case SES_CORE_REFUSED_READ_ONLY:
    return "read-only";
  case SES_CORE_REFUSED_DRAINING:
    return "draining";
  case SES_CORE_REFUSED_NO_ROOM:
    return "no-space";
  case SES_CORE_REFUSED_REQUIREMENT:
    return "hard-requirement";
  case SES_CORE_REFUSED_DEGRADED:
    return "degraded";
  default:
    return "not-usable-here"; // a node excludes for no other reason
  }
}

double seconds_between(Candidates::Time from, Candidates::Time to) {
  return std::chrono::duration<double>(to - from).count();
}

// The row as the choice saw it.  Its server has as many streams more than in the epoch as all of
// the server's elements have together.
ses_core_element seen_element(const Choice &choice, unsigned row) {
  const auto &elements = choice.epoch->elements;
  ses_core_element element = elements[row];
  for (unsigned other = 0; other < elements.size() && !std::isnan(element.server_rate); ++other) {
    if (elements[other].server == element.server) {
      element.server_streams += static_cast<float>(choice.seen[other]) - elements[other].own;
    }
  }
  element.server_streams = std::max(0.0F, element.server_streams);
  element.own = choice.seen[row];
  if (choice.held) {
    element.reserved = choice.held->at(row);
  }
  return element;
}

ses_core_offer offer_of(const Choice &choice, unsigned row) {
  ses_core_offer offer{};
  const ses_core_element element = seen_element(choice, row);
  ses_core_predict(&element, 0, &offer);
  return offer;
}

// What the link of its server leaves a stream, where the element would give more; else null.
json server_limit_json(ses_core_element element) {
  const double limit = element.server_rate / (element.server_streams + 1);
  element.server_rate = kNotKnown;
  ses_core_offer alone{};
  ses_core_predict(&element, 0, &alone);
  return limit < alone.write || limit < alone.read ? json(limit) : json(nullptr);
}

json candidate_json(const Choice &choice, unsigned row, double distance, uint8_t order) {
  const ses_core_offer offer = offer_of(choice, row);
  const ses_core_element element = seen_element(choice, row);
  const double age =
      choice.epoch->ages[row] + seconds_between(choice.epoch->published, choice.decided);
  return {{"element", choice.epoch->facts->rows[row].element},
          {"distance", distance},
          {"read", or_null(offer.read)},
          {"write", or_null(offer.write)},
          {"average_read", or_null(offer.average_read)},
          {"average_write", or_null(offer.average_write)},
          {"free", or_null(offer.free)},
          {"streams", or_null(element.own + element.others)},
          {"ours", or_null(element.own)},
          {"order", order},
          {"server_limit", server_limit_json(element)},
          {"age", or_null(std::isnan(age) ? age : std::max(0.0, age))}};
}

} // namespace

double distance_of(const Choice &choice) {
  const unsigned row = choice.rows.front();
  const ses_core_element element = seen_element(choice, row);
  const ses_core_query query{.need = &choice.need,
                             .policy = &choice.epoch->policy,
                             .elements = &element,
                             .claims = nullptr,
                             .server_claims = nullptr,
                             .excluded = nullptr,
                             .count = 1,
                             .first = 0,
                             .few = 0,
                             .keeps_place = 0};
  ses_core_verdict verdict{};
  ses_core_judge(&query, &verdict);
  return verdict.distance;
}

double least_free_of(const Choice &choice) {
  ses_core_query query{};
  query.elements = choice.epoch->elements.data();
  query.count = choice.epoch->elements.size();
  return choice.need.bytes >= 0 ? choice.need.bytes : ses_core_ample(&query);
}

ses_core_offer predicted(const Choice &choice) {
  ses_core_offer sum{};
  for (const uint8_t row : choice.rows) {
    const ses_core_offer offer = offer_of(choice, row);
    sum.read += offer.read;
    sum.write += offer.write;
    sum.average_read += offer.average_read;
    sum.average_write += offer.average_write;
    sum.free += offer.free;
  }
  return sum;
}

json decision_json(const Choice &choice) {
  const Epoch &epoch = *choice.epoch;
  const size_t count = epoch.elements.size();
  std::vector<ses_core_element> elements;
  for (unsigned row = 0; row < count; ++row) {
    elements.push_back(seen_element(choice, row));
  }
  const ses_core_query query{.need = &choice.need,
                             .policy = &epoch.policy,
                             .elements = elements.data(),
                             .claims = nullptr,
                             .server_claims = nullptr,
                             .excluded = &choice.excluded,
                             .count = count,
                             .first = std::min<size_t>(choice.first, count - 1),
                             .few = choice.few,
                             .keeps_place = choice.rank.ranks != 0};
  std::vector<ses_core_verdict> verdicts(count);
  ses_core_judge(&query, verdicts.data());
  std::vector<uint32_t> ranked(count);
  ranked.resize(ses_core_rank(&query, verdicts.data(), ranked.data(), count));
  // What was chosen comes first whatever is worked out here: the file is there.
  std::vector<uint32_t> order(choice.rows.begin(), choice.rows.end());
  std::copy_if(ranked.begin(), ranked.end(), std::back_inserter(order), [&](uint32_t row) {
    return std::find(choice.rows.begin(), choice.rows.end(), row) == choice.rows.end();
  });
  json candidates = json::array(), refused = json::array();
  std::vector<uint8_t> by(order.size());
  ses_core_ordered_by(&query, verdicts.data(), order.data(), order.size(), by.data(), nullptr);
  for (size_t i = 0; i < std::min<size_t>(order.size(), SES_ANNOUNCED_ELEMENTS_MAX); ++i) {
    candidates.push_back(candidate_json(choice, order[i], verdicts[order[i]].distance, by[i]));
  }
  size_t refused_total = 0;
  for (unsigned row = 0; row < count; ++row) {
    const ses_core_verdict &verdict = verdicts[row];
    if (verdict.refusal != SES_CORE_ACCEPTED && ++refused_total <= SES_ANNOUNCED_ELEMENTS_MAX) {
      const bool unmet = verdict.refusal == SES_CORE_REFUSED_REQUIREMENT;
      refused.push_back({{"element", epoch.facts->rows[row].element},
                         {"reason", reason_name(verdict.refusal)},
                         {"requirement", unmet ? json(verdict.unmet) : json(nullptr)}});
    }
  }
  const Need *need = choice.needs ? choice.needs->with(choice.digest) : nullptr;
  json requirements = json::array();
  for (uint32_t i = 0; i < std::min<uint32_t>(choice.need.count, SES_REQUIREMENTS_MAX); ++i) {
    const bool is_stated = i < choice.stated;
    requirements.push_back(
        requirement_json(choice.need.requirements[i], is_stated ? nullptr : need));
  }
  const bool sized = choice.need.bytes >= 0;
  return {{"decided_at", choice.decided_at},
          {"system", epoch.facts->system},
          {"version", epoch.version},
          {"age_seconds", std::max(0.0, seconds_between(epoch.told, choice.decided))},
          {"offline", choice.offline},
          {"job_rank", rank_json(choice)},
          {"compared", compared_json(choice)},
          {"user_needs", choice.needs ? choice.needs->generation : std::string()},
          {"requirements", std::move(requirements)},
          {"expected_bytes", sized ? json(choice.need.bytes) : json(nullptr)},
          {"expected_from", sized ? json("request") : json(nullptr)},
          {"candidates", std::move(candidates)},
          {"refused", std::move(refused)},
          {"refused_total", refused_total}};
}

bool share_decision(const Choice &a, const Choice &b) {
  return a.epoch == b.epoch && a.digest == b.digest && a.excluded == b.excluded &&
         a.application == b.application && a.first == b.first && a.rank.rank == b.rank.rank &&
         a.rank.ranks == b.rank.ranks && a.need.count == b.need.count &&
         a.need.bytes == b.need.bytes && a.need.stripes == b.need.stripes && a.stated == b.stated &&
         std::memcmp(a.need.requirements, b.need.requirements,
                     a.need.count * sizeof *a.need.requirements) == 0;
}

} // namespace ses::agent
