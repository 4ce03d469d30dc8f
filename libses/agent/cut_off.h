// Where a file should go when no service answers: chosen here, from the last snapshot of the
// elements the service gave.
//
// Pure: time, randomness and own placements are passed in.  Never the best of all: every agent
// that is cut off has the same old snapshot, and all would choose the same element.  Instead the
// best of d elements drawn at random, weighted by capability, where
//
//     d = clamp(round(2 M / (lambda * age)), 2, 8)
//
// with M elements, lambda placements a second in the whole site and age of the snapshot (Dahlin,
// TPDS 2000: the staler, the more random; the fit is this project's own).  A snapshot older than
// kSnapshotLife says nothing about load any more: then one element drawn by capability.
#ifndef SES_AGENT_CUT_OFF_H
#define SES_AGENT_CUT_OFF_H

#include <chrono>
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "wire.h"

namespace ses::agent {

inline constexpr std::chrono::minutes kSnapshotLife{10};

struct Rates { // MB/s; none: not known
  std::optional<double> read;
  std::optional<double> write;
};

struct ElementSnapshot {
  std::string element; // "system/element"
  std::string system;
  uint32_t backend = SES_BACKEND_NONE; // enum ses_backend
  std::string target;
  std::string state; // as in the site description: active, degraded, …
  Rates capability;
  Rates available; // what a newcomer would have got then
  std::optional<double> free_gb;
};

// A sample of the elements, drawn by the service with their capability as weight.
struct Snapshot {
  double decided_at = 0;     // seconds since the epoch
  size_t elements_total = 0; // M: of the site, not of the sample
  double arrival_rate = 0;   // lambda
  std::vector<ElementSnapshot> elements;
};

struct CutOffQuestion {
  std::string system;
  std::vector<Requirement> requirements;
  std::optional<int64_t> expected_bytes;
  std::vector<std::string> exclude;                 // element ids
  const std::map<std::string, unsigned> &own_since; // placements made here since, by element
  double now = 0;                                   // seconds since the epoch
};

struct CutOffChoice {
  const ElementSnapshot *element = nullptr;
  double distance = 0;
  std::vector<std::string> notes; // how old the snapshot is, how many were compared
};

// The number of candidates to draw.
[[nodiscard]] unsigned candidates_to_draw(size_t elements, double arrival_rate, double age);

// None when no element is left that may be chosen.  RANDOM returns a number in [0, 1).
[[nodiscard]] std::optional<CutOffChoice> choose_cut_off(const Snapshot &snapshot,
                                                         const CutOffQuestion &question,
                                                         const std::function<double()> &random);

} // namespace ses::agent

#endif // SES_AGENT_CUT_OFF_H
