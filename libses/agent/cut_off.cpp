#include "cut_off.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>

namespace ses::agent {
namespace {

constexpr double kStep = 0.02;          // distances within one step count as equal
constexpr double kLeastFree = 4u << 20; // bytes: an element with less is full
constexpr double kGigabyte = 1e9;
constexpr unsigned kFewest = 2, kMost = 8;

struct Candidate {
  const ElementSnapshot *element = nullptr;
  double key = 0;      // of the draw: the smallest are drawn
  double distance = 0; // steps decide, then share
  double share = 0;
};

// What one more stream would get: what there was, shared with those placed here since.
std::optional<double> offered(const ElementSnapshot &element, uint32_t kind, bool fresh,
                              unsigned own) {
  if (kind == SES_KIND_FREE_CAPACITY) {
    return element.free_gb;
  }
  const bool read = kind == SES_KIND_CURRENT_READ_RATE || kind == SES_KIND_AVERAGE_READ_RATE;
  const Rates &then = element.available;
  const Rates &facts = element.capability;
  const auto capability = read ? facts.read : facts.write;
  const auto available = fresh ? (read ? then.read : then.write) : std::nullopt;
  const auto rate = available ? available : capability;
  return rate ? std::optional(*rate / (own + 1)) : std::nullopt;
}

double shortfall(std::optional<double> offer, double minimum) {
  if (minimum <= 0) {
    return 0;
  }
  return offer ? std::max(0.0, 1 - *offer / minimum) : 1;
}

// The share that orders elements at the same distance: of the direction asked for; of both, the
// one that is shorter in proportion; writing when no rate is asked for, as in ses-service.
double ordering_share(const ElementSnapshot &element, const CutOffQuestion &question, bool fresh,
                      unsigned own) {
  bool read = false, write = false;
  for (const Requirement &one : question.requirements) {
    read = read || one.kind == SES_KIND_CURRENT_READ_RATE || one.kind == SES_KIND_AVERAGE_READ_RATE;
    write =
        write || one.kind == SES_KIND_CURRENT_WRITE_RATE || one.kind == SES_KIND_AVERAGE_WRITE_RATE;
  }
  if (!read && !write) {
    return offered(element, SES_KIND_CURRENT_WRITE_RATE, fresh, own).value_or(-1);
  }
  double least = std::numeric_limits<double>::infinity();
  for (const Requirement &one : question.requirements) {
    if (one.kind != SES_KIND_FREE_CAPACITY) {
      const double scale = read && write && one.minimum > 0 ? one.minimum : 1;
      least = std::min(least, offered(element, one.kind, fresh, own).value_or(-1) / scale);
    }
  }
  return least;
}

double weight_of(const ElementSnapshot &element) {
  const double both = element.capability.read.value_or(0) + element.capability.write.value_or(0);
  return both > 0 ? both : 1;
}

bool may_be_chosen(const ElementSnapshot &element, const CutOffQuestion &question, bool degraded) {
  const double needed =
      std::max(static_cast<double>(question.expected_bytes.value_or(0)), kLeastFree);
  return element.system == question.system && element.backend != SES_BACKEND_NONE &&
         element.state == (degraded ? "degraded" : "active") &&
         std::find(question.exclude.begin(), question.exclude.end(), element.element) ==
             question.exclude.end() &&
         (!element.free_gb || *element.free_gb * kGigabyte >= needed);
}

} // namespace

unsigned candidates_to_draw(size_t elements, double arrival_rate, double age) {
  const double missed =
      arrival_rate * std::max(age, 0.0); // placements the snapshot knows nothing of
  const double d = missed > 0 ? 2 * static_cast<double>(elements) / missed : kMost;
  return static_cast<unsigned>(std::lround(std::clamp<double>(d, kFewest, kMost)));
}

std::optional<CutOffChoice> choose_cut_off(const Snapshot &snapshot, const CutOffQuestion &question,
                                           const std::function<double()> &random) {
  const double age = std::max(0.0, question.now - snapshot.decided_at);
  const bool fresh = age <= std::chrono::duration<double>(kSnapshotLife).count();
  // A sample was drawn by capability already.
  const bool all = snapshot.elements.size() >= snapshot.elements_total;
  std::vector<Candidate> candidates;
  for (const bool degraded : {false, true}) {
    for (const ElementSnapshot &element : snapshot.elements) {
      if (!may_be_chosen(element, question, degraded)) {
        continue;
      }
      const auto found = question.own_since.find(element.element);
      const unsigned own = found == question.own_since.end() ? 0 : found->second;
      Candidate candidate;
      candidate.element = &element;
      double sum = 0, weights = 0;
      bool refused = false;
      for (const Requirement &one : question.requirements) {
        const double s = shortfall(offered(element, one.kind, fresh, own), one.minimum);
        // As the element was then: own streams come and go, and are no reason to refuse.
        refused = refused ||
                  (one.hard && shortfall(offered(element, one.kind, fresh, 0), one.minimum) > 0);
        sum += one.weight * s * s;
        weights += one.weight;
      }
      if (refused) {
        continue;
      }
      candidate.distance = weights > 0 ? std::sqrt(sum / weights) : 0;
      candidate.share = ordering_share(element, question, fresh, own);
      // Drawn without putting back (Efraimidis and Spirakis 2006): the smallest -ln(u)/w.
      candidate.key = -std::log(1 - random()) / (all ? weight_of(element) : 1);
      candidates.push_back(candidate);
    }
    if (!candidates.empty()) {
      break;
    }
  }
  if (candidates.empty()) {
    return std::nullopt;
  }
  const unsigned wanted =
      fresh ? candidates_to_draw(snapshot.elements_total, snapshot.arrival_rate, age) : 1;
  const size_t drawn = std::min<size_t>(wanted, candidates.size());
  std::partial_sort(candidates.begin(), candidates.begin() + static_cast<long>(drawn),
                    candidates.end(), [](auto &a, auto &b) { return a.key < b.key; });
  const auto best = std::min_element(
      candidates.begin(), candidates.begin() + static_cast<long>(drawn), [](auto &a, auto &b) {
        const long step_a = std::lround(a.distance / kStep),
                   step_b = std::lround(b.distance / kStep);
        return step_a != step_b ? step_a < step_b : a.share > b.share;
      });
  CutOffChoice choice;
  choice.element = best->element;
  choice.distance = best->distance;
  choice.notes.push_back("chosen by the node's agent: no service answered");
  choice.notes.push_back(
      fresh ? fmt::format("best of {} elements drawn at random from a snapshot {:.1f} s old", drawn,
                          age)
            : fmt::format("drawn at random by capability: the last snapshot is {:.0f} s old", age));
  return choice;
}

} // namespace ses::agent
