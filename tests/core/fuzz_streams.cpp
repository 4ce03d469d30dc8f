/* Calls at random, on rows that change now and then; what goes wrong, a sanitizer says.  Streams
 * that are all taken back leave nothing: SEED, and how many calls. */
#include "streams.h"

#include <array>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <random>

using namespace ses::state;

namespace {

constexpr std::size_t max_rows = 40, max_elements = 60, max_kept = 500;

struct Stream {
  std::vector<std::uint32_t> elements;
  double bytes, rate;
};

std::mt19937 chance;
std::array<std::array<double, max_rows>, 6> columns;
std::vector<Stream> kept;

std::uint32_t below(std::size_t limit) { return static_cast<std::uint32_t>(chance() % limit); }

std::string name(std::uint32_t element) { return "e" + std::to_string(element); }

void bind(Counter &counter) {
  std::vector<std::uint32_t> device, room;
  std::vector<std::string> elements;
  for (std::uint32_t row = 0, rows = below(max_rows + 1); row < rows; row++) {
    device.push_back(row > 0 && below(2) ? device[below(row)] : row);
    room.push_back(device[row] == row || below(2) ? row : device[row]);
    elements.push_back(name(below(max_elements)));
  }
  columns = {};
  counter.bind(device, room, elements,
               {columns[0].data(), columns[1].data(), columns[2].data(), columns[3].data(),
                columns[4].data(), columns[5].data()});
  kept.clear();
}

void begin(Counter &counter) {
  auto &file = kept.emplace_back();
  file.bytes = below(1000);
  file.rate = below(3);
  for (auto left = below(5); left > 0; left--)
    file.elements.push_back(below(20) ? below(max_elements) : below(200));
  counter.count(file.elements, 1.0, file.bytes);
  counter.promise(file.elements, file.rate, file.rate, 1);
}

void end(Counter &counter) {
  const auto &file = kept.back();
  counter.count(file.elements, -1.0, -file.bytes);
  counter.promise(file.elements, file.rate, file.rate, -1);
  kept.pop_back();
}

} // namespace

int main(int argc, char **argv) {
  if (argc != 3)
    return 2;
  chance.seed(static_cast<unsigned>(std::strtoul(argv[1], nullptr, 10)));
  for (std::uint32_t element = 0; element < max_elements; element++)
    number_of(name(element));
  Counter counter;
  std::array<double, max_rows> sampled_at{}, averaged{};
  double now = 0.0;
  bind(counter);
  for (long left = std::strtol(argv[2], nullptr, 10); left-- > 0; now += 0.001) {
    std::vector<std::uint32_t> elements(below(20) ? 1 : below(4), below(max_elements));
    switch (below(200)) {
    case 0:
      bind(counter);
      break;
    case 1:
      for (auto &moment : sampled_at)
        moment = below(5) ? now - below(3) : std::nan("");
      counter.observe(now - below(10), sampled_at.data(), 1.0, averaged.data());
      break;
    case 2:
      counter.take_changed();
      break;
    default:
      if (kept.size() < max_kept && below(2))
        begin(counter);
      else if (!kept.empty())
        end(counter);
      counter.placed(elements, now);
      counter.begin(below(5000), elements, now, {});
      if (below(2))
        counter.end(below(5000), elements, now - 1.0, {}, now);
      else
        counter.count(elements, -1.0, 0.0);
    }
  }
  while (!kept.empty())
    end(counter);
  sampled_at.fill(now);
  averaged.fill(0.0);
  counter.observe(forever, sampled_at.data(), 1.0, averaged.data());
  for (std::size_t row = 0; row < max_rows; row++)
    if (columns[0][row] != 0 || std::fabs(columns[1][row]) > 1e-6 || columns[3][row] != 0 ||
        columns[4][row] != 0 || averaged[row] != 0) {
      std::fprintf(stderr, "row %zu keeps %g streams, %g bytes, %g promises, %g on average\n", row,
                   columns[0][row], columns[1][row], columns[3][row], averaged[row]);
      return 1;
    }
  return 0;
}
