// Which file execvp() would take for a program's name.
#ifndef SES_RUN_PROGRAM_SEARCH_H
#define SES_RUN_PROGRAM_SEARCH_H

#include <string>

namespace ses::run {

struct Program {
  std::string path; // empty: none
  int error = 0;    // then: ENOENT, or EACCES when there is one that may not be run
};

// A name with a '/' is a path; any other is looked for in PATH.
Program find_program(const std::string &name);

} // namespace ses::run

#endif // SES_RUN_PROGRAM_SEARCH_H
