#include "node/mountinfo.h"

#include <sys/sysmacros.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <sstream>

namespace ses::agent {
namespace {

// \040 and so on as the characters they are.
std::string unescaped(const std::string &text) {
  std::string out;
  for (size_t i = 0; i < text.size(); ++i) {
    const std::string digits = text.substr(i + 1, 3);
    if (text[i] == '\\' && digits.size() == 3 &&
        digits.find_first_not_of("01234567") == std::string::npos) {
      out += static_cast<char>(std::stoi(digits, nullptr, 8));
      i += 3;
    } else {
      out += text[i];
    }
  }
  return out;
}

} // namespace

std::string read_mountinfo() {
  std::ifstream file("/proc/self/mountinfo");
  std::ostringstream text;
  text << file.rdbuf();
  return text.str();
}

std::vector<Mount> parse_mountinfo(const std::string &text) {
  std::vector<Mount> mounts;
  std::istringstream lines(text);
  for (std::string line; std::getline(lines, line);) {
    // 36 35 98:0 /root /mount/point options optional... - type source options
    std::vector<std::string> fields;
    std::istringstream words(line);
    for (std::string word; std::getline(words, word, ' ');) {
      fields.push_back(unescaped(word));
    }
    unsigned major_number = 0, minor_number = 0;
    if (fields.size() < 6 ||
        std::sscanf(fields[2].c_str(), "%u:%u", &major_number, &minor_number) != 2) {
      continue;
    }
    const auto dash = std::find(fields.begin() + 6, fields.end(), "-");
    const auto after = [&](std::ptrdiff_t place) {
      return fields.end() - dash > place ? dash[place] : std::string();
    };
    mounts.push_back({std::atoi(fields[0].c_str()), makedev(major_number, minor_number), fields[3],
                      fields[4], after(1), after(2), after(3)});
  }
  return mounts;
}

const Mount *mounted_at(const std::vector<Mount> &mounts, const std::string &point) {
  const auto mounted = std::find_if(mounts.rbegin(), mounts.rend(),
                                    [&](const Mount &mount) { return mount.point == point; });
  return mounted == mounts.rend() ? nullptr : &*mounted;
}

} // namespace ses::agent
