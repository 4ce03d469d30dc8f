// The command line of ses-run.
#ifndef SES_RUN_OPTIONS_H
#define SES_RUN_OPTIONS_H

#include <optional>
#include <string>

namespace ses::run {

struct Options {
  bool check = false;
  bool json = false;
  bool verbose = false;
  bool disable = false;
  bool supervise = false;
  bool no_io_uring = false;
  std::string application; // empty: not given
  std::string sync_ms;
  std::string require;
  std::string socket;
  std::string library;
  char **command = nullptr; // the program and its arguments, ended by NULL
};

// What to do, or the exit status when that is all: 0 after --help and --version, 125 after a
// mistake.
std::optional<Options> parse_options(int argc, char **argv, int &status);

} // namespace ses::run

#endif // SES_RUN_OPTIONS_H
