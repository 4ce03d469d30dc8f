#include "table/table_answer.h"

#include <algorithm>
#include <cmath>
#include <nlohmann/json.hpp>
#include <stdexcept>
#include <utility>

#include "service/json.h"
#include "ses/table.h"

namespace ses::agent {
namespace {

using nlohmann::json;

// The members of a row of "loads", in order.
enum Column {
  kRow,
  kBusy,
  kBusyAverage,
  kForeign,
  kForeignAverage,
  kOwn,
  kServerStreams,
  kFree,
  kReserved,
  kAge,
  kState,
  kLastPlaced,
  kPromises,
  kPromised,
  kPromisedHard,
  kColumns
};

double not_negative(const json &value) {
  const auto number = value.get<double>();
  if (!std::isfinite(number) || number < 0) {
    throw std::invalid_argument("number");
  }
  return number;
}

double or_not_known(const json &value) { return value.is_null() ? kNotKnown : not_negative(value); }

double member(const json &object, const char *name, double otherwise) {
  const json *field = field_of(object, name);
  return field == nullptr ? otherwise : not_negative(*field);
}

uint32_t count_of(const json &object, const char *name, uint32_t otherwise) {
  const auto field = object.find(name);
  return field == object.end() ? otherwise : static_cast<uint32_t>(whole(*field, UINT32_MAX));
}

ElementFacts facts_of(const json &object) {
  ElementFacts facts;
  facts.element = object.at("element").get<std::string>();
  facts.target = object.at("target").get<std::string>();
  if (const json *described = field_of(object, "file_system")) {
    facts.file_system = described->get<std::string>();
  }
  facts.number = count_of(object, "number", facts.number);
  facts.server = count_of(object, "server", 0);
  facts.scarce = object.value("scarce", false);
  facts.kept_for = member(object, "kept_for", 0);
  facts.read_rate = member(object, "read_rate", kNotKnown);
  facts.write_rate = member(object, "write_rate", kNotKnown);
  facts.size = member(object, "size", kNotKnown);
  facts.server_rate = member(object, "server_rate", kNotKnown);
  facts.stated.fill(std::numeric_limits<float>::quiet_NaN());
  if (const json *stated = field_of(object, "stated")) {
    for (size_t i = 0; i < std::min<size_t>(stated->size(), SES_CORE_STATED); ++i) {
      facts.stated[i] = stated->at(i).is_null() ? facts.stated[i] : stated->at(i).get<float>();
    }
  }
  if (facts.element.empty() || facts.element.size() >= SES_ELEMENT_MAX) {
    throw std::invalid_argument("element");
  }
  return facts;
}

ElementLoad load_of(const json &row) {
  ElementLoad load;
  load.busy = or_not_known(row.at(kBusy));
  load.busy_average = or_not_known(row.at(kBusyAverage));
  load.foreign = not_negative(row.at(kForeign));
  load.foreign_average = not_negative(row.at(kForeignAverage));
  load.own = not_negative(row.at(kOwn));
  load.server_streams = not_negative(row.at(kServerStreams));
  load.free = or_not_known(row.at(kFree));
  load.reserved = not_negative(row.at(kReserved));
  load.age = or_not_known(row.at(kAge));
  load.state = static_cast<uint32_t>(whole(row.at(kState), UINT32_MAX));
  load.last_placed = whole(row.at(kLastPlaced));
  load.promises = {.count = not_negative(row.at(kPromises)),
                   .rate = not_negative(row.at(kPromised)),
                   .hard = not_negative(row.at(kPromisedHard))};
  return load;
}

ses_core_policy policy_of(const json &object) {
  ses_core_policy policy{};
  ses_core_defaults(&policy);
  const json *settings = field_of(object, "policy");
  if (settings == nullptr) {
    return policy;
  }
  const auto read = [&](const char *name, double &number) {
    number = member(*settings, name, number);
  };
  read("saturation", policy.saturation);
  read("saturated_foreign", policy.saturated_foreign);
  read("equal_foreign", policy.equal_foreign);
  read("unseen_foreign", policy.unseen_foreign);
  read("equal_distance", policy.equal_distance);
  read("equal_share", policy.equal_share);
  read("kept_share", policy.kept_share);
  read("harm_weight", policy.harm_weight);
  read("room_fraction", policy.room_fraction);
  read("minimum_free", policy.minimum_free);
  read("stripe_bytes", policy.stripe_bytes);
  policy.max_stripes = static_cast<uint32_t>(
      std::clamp<double>(member(*settings, "max_stripes", policy.max_stripes), 1, 1000));
  if (const json *overrule = field_of(*settings, "overrule_hints")) {
    policy.overrule_hints =
        overrule->is_boolean() ? overrule->get<bool>() : not_negative(*overrule) > 0;
  }
  return policy;
}

} // namespace

Promises Promises::of(const ses_core_need &need, size_t elements) {
  Promises promises;
  for (uint32_t i = 0; i < std::min<uint32_t>(need.count, SES_REQUIREMENTS_MAX); ++i) {
    const ses_core_requirement &requirement = need.requirements[i];
    const bool writes =
        requirement.kind == SES_CORE_CURRENT_WRITE || requirement.kind == SES_CORE_AVERAGE_WRITE;
    if (writes && requirement.at_most == 0 && requirement.bound > 0 && elements > 0) {
      const double rate = requirement.bound / static_cast<double>(elements);
      promises.count = 1;
      promises.rate = std::max(promises.rate, rate);
      promises.hard = requirement.hard != 0 ? std::max(promises.hard, rate) : promises.hard;
    }
  }
  return promises;
}

// A rate that goes may not have been the largest: it stays until none is left, or the service sends
// what is.
void Promises::add(const Promises &more, double times) {
  count += times * more.count;
  if (times > 0) { // the largest of what ended is known again with the next rows
    rate = std::max(rate, more.rate);
    hard = std::max(hard, more.hard);
  }
}

TableAnswer parse_table(const json &object) {
  TableAnswer answer;
  answer.system = object.at("system").get<std::string>();
  answer.revision = object.at("revision").get<std::string>();
  answer.version = static_cast<int64_t>(whole(object.at("version"), INT64_MAX));
  answer.sent_at = object.at("sent_at").get<double>();
  answer.total = member(object, "total", 0);
  answer.rate = member(object, "rate", 0);
  answer.max_age = member(object, "max_age_seconds", 0);
  answer.policy = policy_of(object);
  if (!std::isfinite(answer.sent_at)) {
    throw std::invalid_argument("sent_at");
  }
  if (const json *elements = field_of(object, "elements")) {
    if (elements->size() > SES_TABLE_ELEMENTS) {
      throw std::invalid_argument("elements");
    }
    answer.elements.emplace();
    for (const json &element : *elements) {
      answer.elements->push_back(facts_of(element));
    }
  }
  for (const json &row : object.at("loads")) {
    const auto number = static_cast<uint32_t>(whole(row.at(kRow), SES_TABLE_ELEMENTS - 1));
    if (row.size() < kColumns) {
      throw std::invalid_argument("row");
    }
    answer.loads[number] = load_of(row);
  }
  if (answer.elements && answer.loads.size() < answer.elements->size()) {
    throw std::invalid_argument("loads");
  }
  return answer;
}

bool merge_table(json &kept, json change) {
  if (field_of(change, "elements") != nullptr) {
    kept = std::move(change);
    return true;
  }
  if (!kept.is_object() || kept.at("revision") != change.at("revision")) {
    return false;
  }
  // Ages are as of the time at which the service sent them.
  const double passed = change.at("sent_at").get<double>() - kept.at("sent_at").get<double>();
  std::map<uint64_t, json *> changed;
  for (json &row : change.at("loads")) {
    changed[whole(row.at(kRow))] = &row;
  }
  for (json &row : kept.at("loads")) {
    if (const auto changed_row = changed.find(whole(row.at(kRow))); changed_row != changed.end()) {
      row = std::move(*changed_row->second);
    } else if (!row.at(kAge).is_null()) {
      row.at(kAge) = row.at(kAge).get<double>() + passed;
    }
  }
  for (auto &[name, value] : change.items()) {
    if (name != "elements" && name != "loads") {
      kept[name] = std::move(value);
    }
  }
  return true;
}

} // namespace ses::agent
