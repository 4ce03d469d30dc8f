// What kind of program a name stands for, and who can place the files it creates.
//
// Looks at the program itself: its file, and those of the interpreters its "#!" lines name.  Does
// NOT know what that program will start, nor whether it makes system calls past the C library.
#ifndef SES_RUN_TARGET_H
#define SES_RUN_TARGET_H

#include <string>
#include <vector>

namespace ses::run {

enum class Kind {
  kDynamic,           // loads this machine's glibc: LD_PRELOAD works
  kMusl,              // dynamic, with musl
  kStatic,            // brings its C library along
  kGo,                // makes system calls by itself, also when dynamic
  kOtherLinker,       // dynamic, with a dynamic linker not known here
  k32Bit,             // this machine's 32-bit mode
  kOtherMachine,      // another processor's
  kSetuid,            // runs with more rights than its caller
  kClearsEnvironment, // a script for env -i
  kMissing,           // there is no such program, or it may not be run
};

enum class Reach { kLibrary, kSupervisor, kNothing };

struct Target {
  std::string name;                      // as given
  std::string path;                      // the file; empty: kMissing
  std::vector<std::string> interpreters; // of a script, outermost first; the last one is what runs
  Kind kind = Kind::kMissing;
  int error = 0;         // kMissing: why
  std::string missing;   // kMissing: what is
  bool has_asan = false; // built with AddressSanitizer's shared runtime
};

Target inspect(const std::string &name);

// Who can place the files of TARGET at best.
Reach reach_of(const Target &target);

} // namespace ses::run

#endif // SES_RUN_TARGET_H
