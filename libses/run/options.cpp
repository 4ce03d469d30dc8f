#include "options.h"

#include <getopt.h>

#include <cstdio>
#include <cstring>
#include <string_view>

#include "exit_status.h"
#include "settings/require.h"
#include "settings/require_wrong.h"
#include "system/visible.h"

namespace ses::run {
namespace {

constexpr const char *kHelp =
    R"(Usage: ses-run [OPTIONS] PROGRAM [ARGUMENTS]

Run PROGRAM such that the files it creates are placed.

Adds the preload library to LD_PRELOAD (what is there stays, and comes first)
and becomes PROGRAM. Looks at the program before, through the interpreters that
#! lines name, and says on standard error when its files cannot be placed. For
programs built with AddressSanitizer it sets verify_asan_link_order=0 in
ASAN_OPTIONS.

With --supervise a supervisor beside PROGRAM creates its files for it, and those
of its children: also of static and Go programs, which load no library, and in
containers that it starts. It needs Linux 5.19. Whatever it cannot do exactly as
the program would, or within SES_SYNC_MS (here 2 by default), goes on as the
original call. If the supervisor is killed, no create fails, as long as not all
of its processes die at once. Setuid programs that a supervised program starts
gain no rights, unless root started it. A create may be interrupted by a signal
(EINTR) more often than without. No other supervisor can run below it, nor any
other program that listens to the calls of others.

Options:
  --application NAME   Name that requirements are looked up under.
                       [default: the program's]
  --require TEXT       What the files need, such as "write>=300MB/s free>=2TB"
                       (docs/placement-rules.md)
  --sync-ms N          Longest wait of one create for the agent, in ms (0: never
                       ask)
  --socket PATH        Where the agent listens
  --library FILE       The preload library.
                       [default: the one installed with ses-run]
  --disable            Place no file, also where the library is loaded already
  --supervise          Create the files of PROGRAM for it, by a supervisor
                       beside it: for programs that load no library (static,
                       Go), and their children
  --no-io-uring        With --supervise: refuse io_uring to PROGRAM (ENOSYS),
                       which then uses calls that are seen, as on a kernel
                       without. What is created through io_uring is seen by
                       nobody
  --check              Say who can place the files of PROGRAM and whether an
                       agent and managed storage are there; do not run it
  --json               With --check: as JSON
  --verbose            Say it also before running
  --help               Print this
  --version            Print the version

Exit status: that of PROGRAM; 125 when ses-run is used wrongly, 126 when PROGRAM
cannot be run, 127 when there is none. With --check: 0 when its files can be
placed once an agent is there, 1 when not.

Examples:
  ses-run ./simulation input.dat
  ses-run --require 'write>=300MB/s free>=2TB' ./simulation input.dat
  ses-run --check ./simulation
)";

enum Option {
  kApplication = 1,
  kRequire,
  kSyncMs,
  kSocket,
  kLibrary,
  kDisable,
  kSupervise,
  kNoIoUring,
  kCheck,
  kJson,
  kVerbose,
  kVersion,
  kHelpOption = 'h' // short, too, as of ses
};

constexpr option kOptions[] = {
    {"application", required_argument, nullptr, kApplication},
    {"require", required_argument, nullptr, kRequire},
    {"sync-ms", required_argument, nullptr, kSyncMs},
    {"socket", required_argument, nullptr, kSocket},
    {"library", required_argument, nullptr, kLibrary},
    {"disable", no_argument, nullptr, kDisable},
    {"supervise", no_argument, nullptr, kSupervise},
    {"no-io-uring", no_argument, nullptr, kNoIoUring},
    {"check", no_argument, nullptr, kCheck},
    {"json", no_argument, nullptr, kJson},
    {"verbose", no_argument, nullptr, kVerbose},
    {"help", no_argument, nullptr, kHelpOption},
    {"version", no_argument, nullptr, kVersion},
    {nullptr, 0, nullptr, 0},
};

constexpr const char *kTry = "Try 'ses-run --help'.\n";

bool wrong(const char *message) {
  std::fprintf(stderr, "ses-run: %s\n%s", visible(message).c_str(), kTry);
  return false;
}

bool is_understood(const std::string &text) {
  ses_wire_requirement requirements[SES_REQUIRE_KINDS];
  const char *rest = nullptr;
  if (ses_require_parse(text.c_str(), requirements, &rest) >= 0) {
    return true;
  }
  std::string why(SES_REQUIRE_WRONG_LENGTH + std::strlen(rest), '\0');
  ses_require_wrong(why.data(), why.size(), rest);
  return wrong(("--require " + std::string(why.c_str())).c_str());
}

bool is_number(std::string_view text) {
  return !text.empty() && text.size() < 6 &&
         text.find_first_not_of("0123456789") == std::string_view::npos;
}

// Takes in one option; false: it is wrong, and an error has been printed.
bool take(Options &options, int which) {
  switch (which) {
  case kApplication:
    options.application = optarg;
    return (!options.application.empty() && options.application.size() < SES_APPLICATION_MAX) ||
           wrong("--application needs a name of at most 63 bytes");
  case kRequire:
    options.require = optarg;
    return is_understood(options.require);
  case kSyncMs:
    options.sync_ms = optarg;
    return is_number(optarg) || wrong("--sync-ms needs a whole number of milliseconds");
  case kSocket:
    options.socket = optarg;
    return options.socket.starts_with('/') || wrong("--socket needs an absolute path");
  case kLibrary:
    options.library = optarg;
    return !options.library.empty() || wrong("--library needs a file");
  case kDisable:
    options.disable = true;
    return true;
  case kSupervise:
    options.supervise = true;
    return true;
  case kNoIoUring:
    options.no_io_uring = true;
    return true;
  case kCheck:
    options.check = true;
    return true;
  case kJson:
    options.json = true;
    return true;
  case kVerbose:
    options.verbose = true;
    return true;
  default: // getopt_long() has printed what is wrong
    std::fputs(kTry, stderr);
    return false;
  }
}

} // namespace

std::optional<Options> parse_options(int argc, char **argv, int &status) {
  Options options;
  status = kMisuse;
  int which = 0;
  while ((which = getopt_long(argc, argv, "+h", kOptions, nullptr)) != -1) {
    if (which == kHelpOption || which == kVersion) {
      std::fputs(which == kVersion ? "ses-run " SES_RUN_VERSION "\n" : kHelp, stdout);
      status = std::fflush(stdout) == 0 ? 0 : kMisuse;
      return std::nullopt;
    }
    if (!take(options, which)) {
      return std::nullopt;
    }
  }
  if (optind >= argc) {
    wrong("which program?");
    return std::nullopt;
  }
  if (options.json && !options.check) {
    wrong("--json goes with --check");
    return std::nullopt;
  }
  if (options.no_io_uring && !options.supervise) {
    wrong("--no-io-uring goes with --supervise");
    return std::nullopt;
  }
  if (options.supervise && options.disable) {
    wrong("--supervise and --disable exclude each other");
    return std::nullopt;
  }
  options.command = argv + optind;
  return options;
}

} // namespace ses::run
