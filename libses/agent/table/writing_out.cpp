#include "table/writing_out.h"

#include <algorithm>
#include <cmath>
#include <utility>

namespace ses::agent {
namespace {

constexpr double kSurely = 0.9; // of the time its bytes take: an element may be faster than known
constexpr double kMaxSeconds = 30; // after which a kernel writes out what is left

} // namespace

void WritingOut::show(unsigned system, std::shared_ptr<const TableFacts> facts,
                      std::vector<ses_core_element> elements) {
  const std::lock_guard lock(mutex_);
  systems_.at(system) = {std::move(facts), std::move(elements)};
}

WritingOut::Seconds WritingOut::lasts(const Choice &choice, double bytes, double open_for) const {
  const TableFacts &then = *choice.epoch->facts;
  const std::lock_guard lock(mutex_);
  const auto system = std::find_if(systems_.begin(), systems_.end(), [&](const System &candidate) {
    return candidate.facts && candidate.facts->system == then.system;
  });
  Seconds lasts;
  for (const uint8_t row_then : choice.rows) {
    const auto row = system == systems_.end() || row_then >= then.rows.size()
                         ? std::nullopt
                         : system->facts->row_of(then.rows[row_then].element);
    if (!row || *row >= system->elements.size()) {
      continue;
    }
    const ses_core_element &element = system->elements[*row];
    const double part = bytes / static_cast<double>(choice.rows.size());
    const double alone = part / element.write_rate;
    if (open_for < kSurely * alone) { // not where the rate is not known
      const double streams = std::max(1.0, static_cast<double>(element.own));
      lasts.writing = std::max(lasts.writing, std::min(kMaxSeconds, streams * alone - open_for));
    }
    lasts.reading = std::fmax(lasts.reading, part / element.read_rate);
  }
  return lasts;
}

std::string WritingOut::element_at(const std::string &system, const std::string &target) const {
  const std::lock_guard lock(mutex_);
  for (const System &known : systems_) {
    if (known.facts && known.facts->system == system) {
      for (const ElementFacts &row : known.facts->rows) {
        if (row.target == target) {
          return row.element;
        }
      }
    }
  }
  return "";
}

} // namespace ses::agent
