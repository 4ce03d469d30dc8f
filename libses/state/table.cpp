/* See table.h. */
#include "table.h"

#include <algorithm>
#include <charconv>
#include <cmath>
#include <stdexcept>

namespace ses::state {

namespace {

constexpr double ticks = 1000.0; /* of a second: placements are distinguished by the millisecond */

void put(std::string &out, double number, double parts = 1000.0) {
  out += ',';
  double rounded = std::nearbyint(number * parts) / parts;
  if (!std::isfinite(rounded)) {
    out += "null";
    return;
  }
  char text[330];
  auto end = std::to_chars(text, text + sizeof text, rounded, std::chars_format::fixed).ptr;
  out.append(text, end);
}

void put_whole(std::string &out, double number) { put(out, number, 1.0); }

} // namespace

void take_counts(ses_core_element &element, const Counts &counts, std::size_t row) {
  element.own = static_cast<float>(counts.open_now[row]);
  element.reserved = counts.reserved[row];
  element.last_placed = static_cast<std::uint64_t>(counts.last_placed[row] * ticks);
  element.promises = static_cast<float>(counts.promises[row]);
  element.promised = static_cast<float>(counts.promised[row]);
  element.promised_hard = static_cast<float>(counts.promised_hard[row]);
}

std::string loads_text(std::span<const ses_core_element> elements,
                       std::span<const double> sampled_at, std::span<const std::int64_t> changed,
                       std::span<const std::int64_t> rows, std::int64_t since, double now) {
  std::string out;
  for (std::size_t place = 0; place < rows.size(); place++) {
    auto row = static_cast<std::size_t>(rows[place]);
    if (row >= elements.size() || row >= sampled_at.size() || row >= changed.size())
      throw std::out_of_range("no such row");
    if (changed[row] <= since)
      continue;
    const auto &element = elements[row];
    out.append(out.empty() ? "[" : ",[").append(std::to_string(place));
    for (float number : {element.busy, element.busy_average, element.foreign,
                         element.foreign_average, element.own, element.server_streams})
      put(out, static_cast<double>(number));
    put_whole(out, element.free);
    put_whole(out, element.reserved);
    double age = now - sampled_at[row];
    put(out, std::isnan(age) ? age : std::max(0.0, age));
    out.append(",").append(std::to_string(element.state));
    out.append(",").append(std::to_string(element.last_placed));
    for (float number : {element.promises, element.promised, element.promised_hard})
      put_whole(out, std::trunc(static_cast<double>(number)));
    out += ']';
  }
  return out;
}

} // namespace ses::state
