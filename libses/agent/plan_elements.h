// The table of elements in a plan: written once for all tickets that refer to them.
//
// A place in the table is left alone as long as a ticket that can be taken refers to it; who holds
// it is counted here, not in the segment.
#ifndef SES_AGENT_PLAN_ELEMENTS_H
#define SES_AGENT_PLAN_ELEMENTS_H

#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <unordered_map>
#include <vector>

#include "ses/plan.h"
#include "wire.h"

namespace ses::agent {

class PlanElements {
public:
  explicit PlanElements(ses_plan &plan) : plan_(plan) {}

  // The places of what PLACEMENT names, in the order of stripes, held until release(); none when it
  // does not fit or the table is full.
  [[nodiscard]] std::optional<std::vector<uint16_t>> hold(const Placement &placement);
  void release(const std::vector<uint16_t> &places);

private:
  [[nodiscard]] std::optional<uint16_t> place_of(const ses_plan_element &element);

  ses_plan &plan_;
  std::unordered_map<std::string, uint16_t> known_; // by the bytes of the element
  struct Place {
    std::string bytes;
    unsigned held = 0;
  };
  std::array<Place, SES_PLAN_ELEMENTS> places_;
  unsigned next_ = 0; // where to look for a place nobody holds
};

} // namespace ses::agent

#endif // SES_AGENT_PLAN_ELEMENTS_H
