#include "plan_elements.h"

#include <algorithm>
#include <cstring>

#include "announcement.h"

namespace ses::agent {
namespace {

template <size_t N> bool copy_text(char (&into)[N], const std::string &text) {
  if (text.size() >= N || text.find('\0') != std::string::npos) {
    return false;
  }
  std::memcpy(into, text.data(), text.size());
  return true;
}

// The name of stripe NUMBER, or of the first where only that is known.
const std::string &name_of(const Placement &placement, size_t number) {
  const bool all = placement.origin && placement.origin->elements.size() > number;
  return all ? placement.origin->elements[number] : placement.element;
}

} // namespace

std::optional<std::vector<uint16_t>> PlanElements::hold(const Placement &placement) {
  std::vector<uint16_t> places;
  const size_t count = std::max<size_t>(placement.osts.size(), 1);
  bool fits = count <= SES_PLAN_STRIPES;
  for (size_t i = 0; fits && i < count; ++i) {
    ses_plan_element element{};
    element.backend = placement.backend;
    element.lustre_form = placement.lustre_form;
    element.index = placement.osts.empty() ? 0 : placement.osts[i];
    fits = copy_text(element.element, name_of(placement, i)) &&
           copy_text(element.pool, placement.pool) && copy_text(element.stage, placement.stage) &&
           copy_text(element.stage_in_union, placement.stage_in_union);
    const auto place = fits ? place_of(element) : std::nullopt;
    if (place) {
      ++places_[*place].held;
      places.push_back(*place);
    }
    fits = place.has_value();
  }
  if (!fits) {
    release(places);
    return std::nullopt;
  }
  return places;
}

std::optional<uint16_t> PlanElements::place_of(const ses_plan_element &element) {
  std::string bytes(reinterpret_cast<const char *>(&element), sizeof element);
  if (const auto found = known_.find(bytes); found != known_.end()) {
    return found->second;
  }
  for (unsigned tried = 0; tried < SES_PLAN_ELEMENTS; ++tried) {
    const unsigned number = (next_ + tried) % SES_PLAN_ELEMENTS;
    Place &place = places_[number];
    if (place.held != 0) {
      continue;
    }
    known_.erase(place.bytes);
    place.bytes = std::move(bytes);
    known_[place.bytes] = static_cast<uint16_t>(number);
    std::memcpy(&plan_.elements[number], &element, sizeof element);
    next_ = number + 1;
    return static_cast<uint16_t>(number);
  }
  return std::nullopt;
}

void PlanElements::release(const std::vector<uint16_t> &places) {
  for (const uint16_t place : places) {
    --places_[place].held;
  }
}

} // namespace ses::agent
