// Where the preload library lies, and what LD_PRELOAD shall say.
#ifndef SES_RUN_LIBRARY_H
#define SES_RUN_LIBRARY_H

#include <string>

namespace ses::run {

struct Library {
  std::string entry; // for LD_PRELOAD; with $LIB where 32 and 64 bit libraries lie apart
  std::string file;  // where it is: for musl, which knows no $LIB
  std::string why;   // when there is none: the reason
};

// GIVEN, or the library of the installation (or build) this program belongs to when GIVEN is empty.
Library find_library(const std::string &given);

} // namespace ses::run

#endif // SES_RUN_LIBRARY_H
