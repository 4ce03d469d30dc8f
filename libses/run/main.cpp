// ses-run: sets the environment, looks at the program, and becomes it.
//
// Does NOT stay: the program has this process, its descriptors, its signals and its exit status.
// What is wrong with placing is printed on standard error, and the program runs all the same.
#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <exception>

#include "exit_status.h"
#include "library.h"
#include "node.h"
#include "options.h"
#include "preload_list.h"
#include "report.h"
#include "seccomp/harmless.h"
#include "supervision.h"
#include "system/visible.h"
#include "target.h"

namespace ses::run {
namespace {

void say(const std::string &text) { std::fprintf(stderr, "ses-run: %s\n", visible(text).c_str()); }

Finding look(const Options &options) {
  Finding finding;
  finding.target = inspect(options.command[0]);
  finding.reach = reach_of(finding.target);
  const Library library = find_library(options.library);
  finding.library = finding.target.kind == Kind::kMusl ? library.file : library.entry;
  finding.no_library = library.why;
  finding.supervised = options.supervise;
  if (finding.reach == Reach::kLibrary && options.supervise) {
    finding.reach = Reach::kSupervisor;
  } else if (finding.reach == Reach::kLibrary && library.entry.empty()) {
    finding.reach = Reach::kNothing;
  }
  finding.filter = look_at_own_filter();
  if (finding.filter == OwnFilter::kOther && finding.reach == Reach::kLibrary) {
    finding.filters = prove_harmless();
    finding.filter = finding.filters.empty() ? OwnFilter::kOther : OwnFilter::kHarmless;
  }
  if (finding.filter == OwnFilter::kOther) {
    finding.reach = Reach::kNothing;
  } else if (finding.filter == OwnFilter::kListener && finding.reach != Reach::kNothing) {
    finding.reach = Reach::kSupervisor;
    finding.supervised = true;
  }
  return finding;
}

void set(const char *name, const std::string &value) { setenv(name, value.c_str(), 1); }

std::string value_of(const char *name) {
  const char *value = std::getenv(name);
  return value != nullptr ? value : "";
}

void set_environment(const Options &options, const Finding &finding) {
  if (options.disable) {
    set("SES_DISABLE", "1");
    return;
  }
  if (!options.application.empty()) {
    set("SES_APPLICATION", options.application);
  }
  if (!options.require.empty()) {
    set("SES_REQUIRE", options.require);
  }
  if (!options.sync_ms.empty()) {
    set("SES_SYNC_MS", options.sync_ms);
  }
  if (!options.socket.empty()) {
    set("SES_AGENT_SOCKET", options.socket);
  }
  if (!finding.filters.empty()) {
    set("SES_FILTERS", finding.filters);
  }
  // Under a supervisor the library does nothing; a 32-bit program would complain of a 64-bit one.
  if (options.supervise || finding.library.empty() ||
      (finding.target.kind == Kind::k32Bit && finding.library.find("$LIB") == std::string::npos)) {
    return;
  }
  set("LD_PRELOAD", with_library(value_of("LD_PRELOAD"), finding.library));
  if (finding.target.has_asan) {
    set("ASAN_OPTIONS", with_asan_order(value_of("ASAN_OPTIONS")));
  }
}

int check(const Options &options, const Finding &finding) {
  const std::string text = options.json ? as_json(finding) : visible(sentence(finding));
  if (std::printf("%s\n", text.c_str()) < 0 || std::fflush(stdout) != 0) {
    return kMisuse;
  }
  return is_placed(finding) ? 0 : 1;
}

// False: the program cannot be run any more.
bool go_under_supervisor(bool refuses_io_uring) {
  std::string why;
  const Supervised supervised = supervise(refuses_io_uring, why);
  if (supervised == Supervised::kNo) {
    say("files go where the file system puts them: " + why);
  } else if (supervised == Supervised::kDead) {
    say("the program is not run, because it could create no file: " + why);
  }
  return supervised != Supervised::kDead;
}

int run(const Options &options) {
  Finding finding = look(options);
  if (options.check || options.verbose) {
    finding.node = look_at_node(options.socket);
  }
  if (options.check) {
    return check(options, finding);
  }
  const bool exists = finding.target.kind != Kind::kMissing;
  if (exists && !options.disable && (options.verbose || !is_placed(finding))) {
    say(sentence(finding));
  }
  set_environment(options, finding);
  if (options.supervise && is_placed(finding) && !go_under_supervisor(options.no_io_uring)) {
    return kMisuse;
  }
  execvp(options.command[0], options.command);
  const int error = errno;
  say(std::string(options.command[0]) + ": " + std::strerror(error));
  return error == ENOENT ? kNotFound : kCannotRun;
}

} // namespace
} // namespace ses::run

int main(int argc, char **argv) {
  try {
    int status = 0;
    const auto options = ses::run::parse_options(argc, argv, status);
    return options ? ses::run::run(*options) : status;
  } catch (const std::exception &failure) { // no memory
    std::fprintf(stderr, "ses-run: %s\n", failure.what());
    return ses::run::kMisuse;
  }
}
