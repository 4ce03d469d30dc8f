/* Streams by row, for C++; see ledger.h. */
#include "ledger.h"

namespace ses::state {

std::vector<std::uint32_t> numbers_of(const Placement &placement) {
  std::vector<std::uint32_t> numbers;
  numbers.reserve(placement.elements.size());
  for (const auto &element : placement.elements)
    numbers.push_back(element->number);
  return numbers;
}

Counter::Counter() : _streams(ses_streams_make(), ses_streams_free) {
  if (!_streams)
    throw std::bad_alloc();
}

void Counter::bind(std::span<const std::uint32_t> device, std::span<const std::uint32_t> room,
                   const std::vector<std::string> &elements, const ses_streams_counts &counts) {
  for (const auto &element : elements)
    number_of(element);
  std::vector<std::uint32_t> row_of(numbers(), SES_NO_ROW);
  for (std::size_t row = 0; row < elements.size(); row++)
    row_of[number_of(elements[row])] = static_cast<std::uint32_t>(row);
  _rows = device.size();
  if (ses_streams_bind(_streams.get(), _rows, device.data(), room.data(), row_of.size(),
                       row_of.data(), &counts))
    throw std::bad_alloc();
}

void Counter::count(std::span<const std::uint32_t> elements, double number, double bytes) {
  ses_streams_count(_streams.get(), elements.data(), elements.size(), number, bytes);
}

void Counter::begin(Id id, std::span<const std::uint32_t> elements, double began,
                    const Number &bytes) {
  count(elements, 1.0, bytes.value_or(0.0));
  ses_streams_note(_streams.get(), static_cast<std::int64_t>(id), elements.data(), elements.size(),
                   began, forever);
}

void Counter::end(Id id, std::span<const std::uint32_t> elements, double began, const Number &bytes,
                  double now) {
  count(elements, -1.0, -bytes.value_or(0.0));
  ses_streams_note(_streams.get(), static_cast<std::int64_t>(id), elements.data(), elements.size(),
                   began, now);
}

void Counter::promise(std::span<const std::uint32_t> elements, double rate, double hard,
                      int number) {
  auto stripes = static_cast<double>(elements.size()); /* a stripe is to give its part */
  ses_streams_promise(_streams.get(), elements.data(), elements.size(), rate / stripes,
                      hard / stripes, number);
}

void Counter::placed(std::span<const std::uint32_t> elements, double at) {
  ses_streams_placed(_streams.get(), elements.data(), elements.size(), at);
}

void Counter::observe(double horizon, const double *sampled_at, double window, double *averaged) {
  take_changed();
  ses_streams_forget(_streams.get(), horizon);
  ses_streams_average(_streams.get(), sampled_at, window, averaged);
}

std::vector<std::uint32_t> Counter::take_changed() {
  std::vector<std::uint32_t> rows(_rows);
  rows.resize(ses_streams_changed(_streams.get(), rows.data()));
  return rows;
}

} // namespace ses::state
