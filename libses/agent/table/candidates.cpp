#include "table/candidates.h"

#include <algorithm>
#include <cmath>
#include <utility>

namespace ses::agent {
namespace {

constexpr double kMinCandidateLimit = 3, kMaxCandidateLimit = 64;
constexpr uint64_t kSameAge =
    1000; // ms: placements on busy elements within it count as equally old
constexpr std::chrono::milliseconds kLookAtPlacements{4000};
constexpr double kCrowd = 1;                 // files a second by other nodes
constexpr std::chrono::minutes kCrowded{10}; // after such a rate was reported

double seconds(std::chrono::steady_clock::duration duration) {
  return std::chrono::duration<double>(duration).count();
}

std::chrono::steady_clock::duration duration_of(double seconds) {
  constexpr double kMaxSeconds = 1e8;
  return std::chrono::duration_cast<std::chrono::steady_clock::duration>(
      std::chrono::duration<double>(std::min(seconds, kMaxSeconds)));
}

// Of each row the first of the rows on its device.
std::vector<unsigned> devices_of(const std::vector<ElementFacts> &rows) {
  std::vector<unsigned> devices;
  for (const ElementFacts &row : rows) {
    const auto same = std::find_if(rows.begin(), rows.end(), [&](const ElementFacts &other) {
      return &other == &row || (!row.file_system.empty() && other.server == row.server &&
                                other.file_system == row.file_system);
    });
    devices.push_back(static_cast<unsigned>(same - rows.begin()));
  }
  return devices;
}

double known_bytes(double bytes) { return bytes > 0 ? bytes : 0; }

} // namespace

std::optional<unsigned> TableFacts::row_of(const std::string &element) const {
  const auto match = std::find_if(rows.begin(), rows.end(),
                                  [&](const auto &row) { return row.element == element; });
  return match == rows.end() ? std::nullopt
                             : std::optional(static_cast<unsigned>(match - rows.begin()));
}

Candidates::Candidates(std::string system) {
  facts_ = std::make_shared<const TableFacts>(TableFacts{std::move(system), {}});
  ses_core_defaults(&policy_);
}

bool Candidates::apply(const TableAnswer &answer, Time asked_at) {
  if (!answer.elements && answer.revision != revision_) {
    return false;
  }
  if (answer.elements) {
    facts_ = std::make_shared<const TableFacts>(TableFacts{answer.system, *answer.elements});
    loads_.assign(size(), {});
    sampled_at_.assign(size(), std::nullopt);
    deltas_.assign(size(), {});
    seen_writes_.reset(size());
    devices_ = devices_of(facts_->rows);
  }
  report_within_ = answer.report_within;
  revision_ = answer.revision;
  version_ = answer.version;
  sent_at_ = answer.sent_at;
  asked_at_ = asked_at;
  total_ = answer.total;
  rate_ = answer.rate;
  crowd_at_ = rate_ >= kCrowd ? asked_at : crowd_at_;
  max_age_ = answer.max_age;
  policy_ = answer.policy;
  for (const auto &[row, load] : answer.loads) {
    if (row >= size()) {
      continue;
    }
    loads_[row] = load;
    const bool sampled = !std::isnan(load.busy) && !std::isnan(load.age);
    sampled_at_[row] = sampled ? std::optional(asked_at - duration_of(load.age)) : std::nullopt;
    seen_writes_.note_own(row, own(row));
  }
  return true;
}

void Candidates::count(unsigned row, double streams, double bytes, const Promises &promises) {
  for (unsigned other = 0; other < size(); ++other) {
    if (devices_[other] == devices_[row]) {
      deltas_[other].own += streams;
      deltas_[other].reserved += streams * known_bytes(bytes);
      deltas_[other].promises.add(promises, streams);
      seen_writes_.note_own(other, own(other));
    }
  }
}

void Candidates::add(unsigned row, double bytes, const Promises &promises) {
  count(row, 1, bytes, promises);
  const double sent_ms = std::clamp(sent_at_ * 1000, 0.0, 1e15);
  deltas_[row].last_placed = latest_ = std::max(latest_ + 1, static_cast<uint64_t>(sent_ms));
}

void Candidates::remove(unsigned row, double bytes, const Promises &promises) {
  count(row, -1, bytes, promises);
}

void Candidates::put_back(unsigned row, double bytes, const Promises &promises) {
  count(row, 1, bytes, promises);
}

double Candidates::held(unsigned row) const {
  return std::max(0.0, loads_[row].reserved + deltas_[row].reserved);
}

double Candidates::own(unsigned row) const {
  return std::max(0.0, loads_[row].own + deltas_[row].own);
}

Held Candidates::held() {
  std::vector<double> all;
  for (unsigned row = 0; row < size(); ++row) {
    all.push_back(held(row));
  }
  if (!held_ || *held_ != all) {
    held_ = std::make_shared<const std::vector<double>>(std::move(all));
  }
  return held_;
}

std::vector<uint32_t> Candidates::numbers() const {
  std::vector<uint32_t> all;
  for (const ElementFacts &facts : facts_->rows) {
    all.push_back(facts.number);
  }
  return all;
}

double Candidates::age(unsigned row, Time now) const {
  return sampled_at_[row] ? std::max(0.0, seconds(now - *sampled_at_[row])) : kNotKnown;
}

uint64_t Candidates::unseen(Time now) const {
  uint64_t rows = 0;
  for (unsigned row = 0; row < size(); ++row) {
    rows |= age(row, now) <= max_age_ ? 0 : uint64_t{1} << row; // also where the age is not known
  }
  return rows;
}

bool Candidates::forget_placements(Time now) {
  if (now - looked_at_ < kLookAtPlacements) {
    return false;
  }
  const uint64_t before = std::exchange(looked_, latest_);
  looked_at_ = now;
  bool changed = false;
  for (Delta &delta : deltas_) {
    if (delta.last_placed != 0 && delta.last_placed <= before && crowd_at_ &&
        now - *crowd_at_ < kCrowded) {
      delta.last_placed = 0;
      changed = true;
    }
  }
  return changed;
}

bool Candidates::look_at_space(const std::map<std::string, double> &used, Time at) {
  bool changed = false;
  for (unsigned row = 0; row < size(); ++row) {
    const ElementFacts &facts = facts_->rows[row];
    if (const auto bytes = used.find(facts.target); bytes != used.end()) {
      changed = seen_writes_.look(row, bytes->second, facts.write_rate, at) || changed;
    }
  }
  return changed;
}

uint32_t Candidates::candidate_limit(Time now, const ses_rank &rank, uint32_t streams) const {
  // The last placements of other nodes are unreported for half their reporting interval on average.
  const double unreported = rate_ * (std::max(0.0, seconds(now - asked_at_)) + report_within_ / 2);
  const double limit =
      std::clamp(std::round(total_ / unreported), kMinCandidateLimit, kMaxCandidateLimit);
  return ses_table_candidate_limit(unreported < 0.5 ? 0 : static_cast<uint32_t>(limit), streams,
                                   total(), &rank);
}

uint32_t Candidates::first(const ses_rank &rank) const {
  return ses_table_first(numbers().data(), static_cast<uint32_t>(size()), total(), &rank);
}

// Of elements with own streams the one that was used longest ago by any node is free first.  Of
// idle ones that would be the same for all nodes, which would meet there: this node's own
// placements count, while they are fresh (forget_placements()): with first rows of their own, nodes
// meet when some go on from theirs and some do not.  Those of a second are as old, so that many at
// once go by the order of the node.
uint64_t Candidates::last_placed_of(double own, const ElementLoad &load, const Delta &delta) {
  return own > 0 ? std::max(load.last_placed, delta.last_placed) / kSameAge * kSameAge
                 : delta.last_placed;
}

std::map<uint32_t, double> Candidates::server_deltas() const {
  std::map<uint32_t, double> streams;
  for (unsigned row = 0; row < size(); ++row) {
    if (devices_[row] == row && deltas_[row].own != 0 &&
        !std::isnan(facts_->rows[row].server_rate)) {
      streams[facts_->rows[row].server] += deltas_[row].own;
    }
  }
  return streams;
}

ses_core_element Candidates::element_of(unsigned row, uint64_t unseen,
                                        const std::map<uint32_t, double> &servers, Time now) const {
  const ElementFacts &facts = facts_->rows[row];
  const ElementLoad &load = loads_[row];
  const Delta &delta = deltas_[row];
  ses_core_element element{};
  element.read_rate = facts.read_rate;
  element.write_rate = facts.write_rate;
  element.size = facts.size;
  element.free = load.free;
  element.reserved = held(row);
  element.server_rate = facts.server_rate;
  element.busy = static_cast<float>(load.busy);
  element.busy_average = static_cast<float>(load.busy_average);
  element.foreign = static_cast<float>(load.foreign);
  element.foreign_average = static_cast<float>(load.foreign_average);
  element.own = static_cast<float>(own(row));
  const Promises &here = delta.promises;
  element.promises = static_cast<float>(std::max(0.0, load.promises.count + here.count));
  if (element.promises > 0) {
    element.promised = static_cast<float>(std::max(load.promises.rate, here.rate));
    element.promised_hard = static_cast<float>(std::max(load.promises.hard, here.hard));
  }
  const auto server = servers.find(facts.server);
  element.server_streams = static_cast<float>(
      std::max(0.0, load.server_streams + (server == servers.end() ? 0 : server->second)));
  element.last_placed = last_placed_of(element.own, load, delta);
  std::copy(facts.stated.begin(), facts.stated.end(), element.stated);
  element.state = load.state | (facts.scarce ? static_cast<uint32_t>(SES_CORE_SCARCE) : 0u);
  element.server = facts.server;
  element.kept_for = static_cast<float>(facts.kept_for);
  if ((unseen >> row & 1) != 0) {
    const uint64_t all = size() < 64 ? (uint64_t{1} << size()) - 1 : ~uint64_t{0};
    ses_core_unseen(&element, unseen != all, &policy_);
  }
  element.foreign = std::max(element.foreign, static_cast<float>(seen_writes_.foreign(row, now)));
  return element;
}

std::vector<ses_core_element> Candidates::elements(Time now) const {
  std::vector<ses_core_element> all;
  const uint64_t rows = unseen(now);
  const auto servers = server_deltas();
  for (unsigned row = 0; row < size(); ++row) {
    all.push_back(element_of(row, rows, servers, now));
  }
  return all;
}

} // namespace ses::agent
