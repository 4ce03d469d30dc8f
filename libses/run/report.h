// Saying what was found out about a program, to people and to programs.
#ifndef SES_RUN_REPORT_H
#define SES_RUN_REPORT_H

#include <string>

#include "node.h"
#include "seccomp/own_filter.h"
#include "target.h"

namespace ses::run {

struct Finding {
  Target target;
  Reach reach = Reach::kNothing; // who can: the target's, as far as the library is there
  bool supervised = false;       // it is to run under a supervisor, not under the library
  OwnFilter filter = OwnFilter::kNone;
  std::string filters;    // what SES_FILTERS says of it
  std::string library;    // what LD_PRELOAD would name
  std::string no_library; // why there is none
  Node node;              // looked at for a report
};

// Will its files be placed?
bool is_placed(const Finding &finding);

// One sentence, with what to do where something can be done.
std::string sentence(const Finding &finding);

// Keys: program, path, kind, interpreters, asan, reach (library, supervisor, nothing), filter (the
// seccomp filter of ses-run itself: none, listener, other, harmless), library, agent (does one
// listen), managed (mount points; null: not known), message.
std::string as_json(const Finding &finding);

} // namespace ses::run

#endif // SES_RUN_REPORT_H
