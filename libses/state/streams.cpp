/* See streams.h. */
#include "streams.h"

#include <algorithm>
#include <cmath>
#include <utility>

namespace ses::state {

namespace {

constexpr std::uint32_t none = std::numeric_limits<std::uint32_t>::max(); /* row, or element */

} // namespace

std::uint32_t Counter::row_of(std::uint32_t element) const {
  return element < _row_of.size() ? _row_of[element] : none;
}

/* Call `each` with every row on the device of an element. */
template <class Each> void Counter::on_device(std::uint32_t element, Each each) {
  std::uint32_t first = row_of(element), row = first;
  if (first == none)
    return;
  do {
    each(row);
    row = _rows[row].next;
  } while (row != first);
}

void Counter::mark(std::uint32_t row) {
  if (!std::exchange(_rows[row].changed, true))
    _changed.push_back(row);
}

void Counter::bind(std::span<const std::uint32_t> device, std::span<const std::uint32_t> room,
                   const std::vector<std::string> &elements, const Counts &counts) {
  _counts = counts;
  _changed.clear();
  _rows.assign(device.size(), {});
  for (std::uint32_t row = 0; row < _rows.size(); row++) {
    auto &first = _rows[device[row]];
    _rows[row].device = device[row];
    _rows[row].room = room[row];
    _rows[row].next = device[row] == row ? row : first.next;
    first.next = row;
  }
  for (const auto &element : elements)
    number_of(element);
  _row_of.assign(numbers(), none);
  _placed.resize(numbers());
  for (std::uint32_t row = 0; row < elements.size(); row++) {
    auto element = number_of(elements[row]);
    _row_of[element] = row;
    counts.last_placed[row] = _placed[element];
  }
}

void Counter::count(std::span<const std::uint32_t> elements, double number, double bytes) {
  double part = bytes / static_cast<double>(elements.size());
  for (auto element : elements)
    on_device(element, [&](std::uint32_t row) {
      _counts.open_now[row] += number;
      if (_rows[row].room == _rows[row_of(element)].room)
        _counts.reserved[row] += part;
      mark(row);
    });
}

void Counter::begin(Id id, std::span<const std::uint32_t> elements, double began,
                    const Number &bytes) {
  count(elements, 1.0, bytes.value_or(0.0));
  note(id, elements, began, forever);
}

void Counter::end(Id id, std::span<const std::uint32_t> elements, double began, const Number &bytes,
                  double now) {
  count(elements, -1.0, -bytes.value_or(0.0));
  note(id, elements, began, now);
}

void Counter::promise(std::span<const std::uint32_t> elements, double rate, double hard,
                      int number) {
  auto stripes = static_cast<double>(elements.size()); /* a stripe is to give its part */
  rate /= stripes;
  hard /= stripes;
  for (auto element : elements)
    on_device(element, [&](std::uint32_t row) {
      auto &promises = _rows[row].promises;
      auto alike = std::find_if(promises.begin(), promises.end(), [&](const Promise &promise) {
        return promise.rate == rate && promise.hard == hard;
      });
      if (alike == promises.end()) {
        if (number < 0)
          return;
        alike = promises.insert(alike, {rate, hard, 0});
      }
      alike->number += number;
      if (alike->number == 0)
        promises.erase(alike);
      double largest = 0.0, largest_hard = 0.0;
      for (const auto &promise : promises) {
        largest = std::max(largest, promise.rate);
        largest_hard = std::max(largest_hard, promise.hard);
      }
      _counts.promises[row] += number;
      _counts.promised[row] = largest;
      _counts.promised_hard[row] = largest_hard;
      mark(row);
    });
}

void Counter::placed(std::span<const std::uint32_t> elements, double at) {
  for (auto element : elements) {
    if (element >= _placed.size())
      _placed.resize(element + 1);
    _placed[element] = std::max(_placed[element], at);
    if (auto row = row_of(element); row != none) {
      _counts.last_placed[row] = _placed[element];
      mark(row);
    }
  }
}

std::vector<std::uint32_t> Counter::take_changed() {
  for (auto row : _changed)
    _rows[row].changed = false;
  return std::exchange(_changed, {});
}

void Counter::note(Id id, std::span<const std::uint32_t> elements, double began, double ended) {
  if (elements.empty())
    return;
  auto known = _number_of.try_emplace(id, _first + _recent.size()).first;
  auto first = static_cast<std::size_t>(known->second - _first), next = first;
  bool same = true;
  for (; next < _recent.size() && _recent[next].id == id; next++)
    same =
        same && next - first < elements.size() && _recent[next].element == elements[next - first];
  if (same && next - first == elements.size()) {
    for (auto at = first; at < next; at++) {
      _recent[at].began = began;
      _recent[at].ended = ended;
    }
    return;
  }
  for (auto at = first; at < next; at++)
    _recent[at].element = none;
  known->second = _first + _recent.size();
  for (auto element : elements)
    _recent.push_back({id, began, ended, element});
}

void Counter::forget(double horizon) {
  for (; !_recent.empty(); _recent.pop_front(), _first++) {
    const auto &oldest = _recent.front();
    if (oldest.element == none)
      continue;
    if ((std::isinf(oldest.ended) ? oldest.began : oldest.ended) >= horizon)
      return;
    _number_of.erase(oldest.id);
  }
}

void Counter::observe(double horizon, const double *sampled_at, double window, double *averaged) {
  take_changed();
  forget(horizon);
  std::fill_n(averaged, rows(), 0.0);
  for (const auto &place : _recent) {
    auto row = row_of(place.element);
    if (row == none)
      continue;
    row = _rows[row].device;
    double taken = sampled_at[row], there = 0.0;
    if (!std::isnan(taken))
      there = std::exp(std::max(0.0, taken - place.ended) / -window) -
              std::exp(std::max(0.0, taken - place.began) / -window);
    averaged[row] += there - (std::isinf(place.ended) ? 1.0 : 0.0);
  }
  for (std::size_t row = rows(); row-- > 0;) /* a device's first row comes last of them */
    averaged[row] = std::max(0.0, _counts.open_now[row] + averaged[_rows[row].device]);
}

} // namespace ses::state
