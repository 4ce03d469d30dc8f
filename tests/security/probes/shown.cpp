// shown: values on standard input, each with \0 \1 \0 behind it: one event of the agent's log on
// standard error, one line on standard output.  With an argument, standard input is a text of
// mountinfo: point, type and source of each mount, each with a NUL behind it.
#include <spdlog/spdlog.h>

#include <fstream>
#include <iostream>
#include <iterator>

#include "node/log.h"
#include "node/mountinfo.h"
#include "system/visible.h"

int main(int argc, char **argv) {
  ses::agent::log_to_stderr("debug");
  const std::string text{std::istreambuf_iterator<char>(std::cin), {}};
  if (argc > 1) {
    for (const ses::agent::Mount &mount : ses::agent::parse_mountinfo(text)) {
      std::cout << mount.point << '\0' << mount.type << '\0' << mount.source << '\0';
    }
    return 0;
  }
  for (size_t at = 0; at < text.size();) {
    const size_t end = text.find(std::string("\0\1\0", 3), at);
    const std::string value = text.substr(at, end - at);
    spdlog::warn("file {} of {}", value, value);
    std::cout << ses::visible(value) << '\n';
    at = end + 3;
  }
}
