// The command lines of ses-copy and ses-migrate.
#ifndef SES_COPY_OPTIONS_H
#define SES_COPY_OPTIONS_H

#include <optional>
#include <string>
#include <vector>

#include "bytes/way.h"
#include "file/file_copy.h"

namespace ses::copy {

inline constexpr int kMisuse = 2; // exit status

struct Options {
  CopyOptions copy;
  std::optional<Way> only;
  std::string require;
  std::string application;
  unsigned jobs = 0;
  bool no_clobber = false;
  bool verbose = false;
  bool json = false;
  std::vector<std::string> files; // of ses-copy the last one is the target
};

// Of one of the two programs: its name, its help, and the options that it has.
struct Program {
  const char *name;
  const char *help;
  const char *options; // names, separated by blanks
};

// None: the program ends with STATUS; its message has been printed.
std::optional<Options> parse_options(const Program &program, int argc, char **argv, int &status);

// Prints what is wrong with the command line; kMisuse.
int misuse(const Program &program, const std::string &what);

} // namespace ses::copy

#endif // SES_COPY_OPTIONS_H
