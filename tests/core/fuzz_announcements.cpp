/* Announcements as agents send them, some of their bytes others, are read by two threads, and those
 * that can be read are taken by a ledger: FILE has one, COUNT says how many.  What goes wrong, a
 * sanitizer says. */
#include "decode.h"

#include <cstdlib>
#include <fstream>
#include <iterator>
#include <random>
#include <thread>

using namespace ses::state;

namespace {

std::string changed(std::string text, std::mt19937 &random) {
  auto below = [&](std::size_t limit) { return static_cast<std::size_t>(random()) % limit; };
  static const char *const pieces[] = {"null", "-1", "1e999", "\"\\ud800\"", "{",
                                       "]",    "\"", ",",     "true",        "0000000000000001"};
  for (std::size_t left = below(5); left > 0 && !text.empty(); left--) {
    std::size_t at = below(text.size());
    switch (below(4)) {
    case 0:
      text[at] = static_cast<char>(random());
      break;
    case 1:
      text.erase(at, below(20));
      break;
    case 2:
      text.insert(at, pieces[below(std::size(pieces))]);
      break;
    default:
      text.insert(at, text.substr(below(text.size()), below(60)));
    }
  }
  return text;
}

/* Returns how many could be read. */
std::size_t run(const std::string &seed, unsigned number, std::size_t count) {
  std::mt19937 random(number);
  Ledger ledger({100, 100}, FileBounds(1000.0, 65'536, 600.0));
  auto element = std::make_shared<Element>();
  element->id = "scratch/ost0";
  element->system = "scratch";
  element->number = number_of(element->id);
  ledger.describe({element}, {{"scratch", "lustre"}}, {{"alice", "vo"}});
  double columns[6] = {};
  const std::uint32_t row[] = {0};
  ledger.counter.bind(
      row, row, {element->id},
      {&columns[0], &columns[1], &columns[2], &columns[3], &columns[4], &columns[5]});
  auto follower = ledger.follow();
  std::size_t taken = 0;
  for (std::size_t at = 0; at < count; at++) {
    auto read = decode(changed(seed, random));
    if (!read)
      continue;
    taken++;
    auto now = static_cast<double>(at);
    for (auto &report : read->files.opened)
      if (report.origin && random() % 4 != 0)
        report.origin->elements = {"scratch/ost0"};
    ledger.take(read->files, "n1", now, [](std::int64_t, const std::string &) { return nullptr; });
    ledger.expire(now, 3);
    ledger.take_changes(*follower, 5);
  }
  for (Id id : ledger.open_on("n1"))
    ledger.end(
        {.id = id, .reason = EndReason::lost, .bytes_written = {}, .path = {}, .achieved = {}},
        1e9);
  return columns[0] == 0.0 && ledger.size() == 0 ? taken : 0;
}

} // namespace

int main(int argc, char **argv) {
  if (argc != 3)
    return 2;
  std::ifstream file(argv[1]);
  const std::string seed((std::istreambuf_iterator<char>(file)), std::istreambuf_iterator<char>());
  auto count = static_cast<std::size_t>(std::atol(argv[2]));
  number_of("scratch/ost0");
  std::size_t taken[2] = {};
  std::thread other([&] { taken[1] = run(seed, 2, count / 2); });
  taken[0] = run(seed, 1, count / 2);
  other.join();
  return taken[0] > 0 && taken[1] > 0 ? 0 : 1;
}
