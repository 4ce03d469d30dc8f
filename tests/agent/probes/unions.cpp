// Reads unions from standard input as the agent reads them: SAYS, tab, MIN-FREE, a line each;
// prints for each its branches, PATH MODE BYTES, separated by tabs.  With "another" as argument:
// DESCRIBED, tab, SEEN; prints 1 or 0.
#include <iostream>
#include <string>

#include "systems/file_system.h"
#include "systems/union_reading.h"

int main(int argc, char **) {
  for (std::string line; std::getline(std::cin, line);) {
    const std::string first = line.substr(0, line.find('\t'));
    const std::string second = line.substr(first.size() + 1);
    if (argc > 1) {
      std::cout << ses::agent::is_another(first, second) << '\n';
      continue;
    }
    const ses::agent::Union parsed = ses::agent::parse_union(first, second, "");
    for (const auto &[path, branch] : parsed.branches) {
      const char *modes[] = {"RW", "RO", "NC"};
      std::cout << path << ' ' << modes[static_cast<int>(branch.mode)] << ' ' << branch.min_free
                << '\t';
    }
    std::cout << '\n';
  }
}
