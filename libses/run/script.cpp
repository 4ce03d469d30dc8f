#include "script.h"

#include <unistd.h>

#include <array>
#include <sstream>
#include <string_view>

namespace ses::run {
namespace {

constexpr size_t kLineMax = 256; // BINPRM_BUF_SIZE: the kernel looks no further
constexpr const char *kBlank = " \t";

std::string trimmed(const std::string &text) {
  const size_t first = text.find_first_not_of(kBlank);
  if (first == std::string::npos) {
    return "";
  }
  return text.substr(first, text.find_last_not_of(kBlank) - first + 1);
}

// Letters of one or several short options.  False: they end with the program.
bool read_letters(const std::string &word, std::istringstream &words, EnvCommand &command) {
  for (size_t i = 1; i < word.size(); ++i) {
    const bool is_last = i + 1 == word.size();
    if (word[i] == 'i') {
      command.clears = true;
    } else if (word[i] == 'u' || word[i] == 'C') {
      std::string value;
      if (is_last) {
        words >> value;
      }
      return true;
    } else if (word[i] == 'S' && !is_last) {
      command.program = word.substr(i + 1);
      return false;
    }
  }
  return true;
}

} // namespace

std::optional<ScriptLine> read_script_line(int fd) {
  std::array<char, kLineMax> start{};
  const ssize_t got = pread(fd, start.data(), start.size(), 0);
  if (got < 2 || start[0] != '#' || start[1] != '!') {
    return std::nullopt;
  }
  std::string line(start.data() + 2, static_cast<size_t>(got) - 2);
  line = trimmed(line.substr(0, line.find_first_of(std::string_view("\n\0", 2))));
  const size_t blank = line.find_first_of(kBlank);
  if (blank == std::string::npos) {
    return ScriptLine{line, ""};
  }
  return ScriptLine{line.substr(0, blank), trimmed(line.substr(blank))};
}

EnvCommand read_env_argument(const std::string &argument) {
  EnvCommand command;
  std::istringstream words(argument);
  for (std::string word; words >> word;) {
    if (!word.starts_with('-')) {
      if (word.find('=') == std::string::npos) {
        command.program = word;
        return command;
      }
    } else if (word == "-" || word == "--ignore-environment") {
      command.clears = true;
    } else if (word == "--unset" || word == "--chdir") {
      words >> word;
    } else if (!word.starts_with("--") && !read_letters(word, words, command)) {
      return command;
    }
  }
  return command;
}

} // namespace ses::run
