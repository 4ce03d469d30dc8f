// ses-migrate: moves files that lie badly to where they are served best now.
#include <sys/stat.h>

#include <cstdio>
#include <exception>
#include <utility>

#include "batch/interrupt.h"
#include "batch/report.h"
#include "batch/runner.h"
#include "command/options.h"
#include "file/failure.h"

namespace ses::copy {
namespace {

constexpr const char *kHelp =
    R"(Usage: ses-migrate [OPTIONS] FILE...

Move the bytes of files to where they are served best now, under the names they
have.

Each file is copied to the place that would be chosen for it if it were created
now; then the copy takes its name. It stays where it is when no place is chosen,
when it lies there already, when a program of this node has it open or opens or
changes it meanwhile, when it has further names (hard links), and when owner,
group or an attribute could not be kept. Programs on other nodes are not seen:
migrate what they do not use. The copy is on the device before it takes the
name; owner, mode, times, extended attributes, ACLs and holes are kept.

Options:
  --require TEXT       What the files need, such as "write>=300MB/s free>=2TB"
                       (docs/placement-rules.md)
  --application NAME   Name that requirements are looked up under.
                       [default: ses-migrate]
  --assume-unused      Migrate also where the file system does not report
                       whether a file is in use
  --verify             Read the copy and the file again before the one replaces
                       the other, and compare (XXH3, 128 bits)
  --way WAY            Only this way: reflink, copy_file_range, direct, splice
                       or read-write
  --jobs N             Threads, 1 to 256. [default: as many as processors, at
                       least 2, at most 8]
  --verbose            A line for each file: the way, the element, or why it
                       stays
  --json               The end as JSON; with --verbose with each file
  --help               Print this
  --version            Print the version

Exit status: 0 when every file is where it is served best; 1 when one could not
be migrated, which standard error names; 2 when the command line is wrong; 128
and the number of the signal when interrupted.

Examples:
  ses-migrate /srv/union/alice/output.dat
  find /srv/union/alice -size +1G -exec ses-migrate --verbose {} +
)";

constexpr Program kProgram{
    "ses-migrate", kHelp,
    "require application assume-unused verify way jobs verbose json help version"};

int run(Options options) {
  if (options.files.empty()) {
    return misuse(kProgram, "which files?");
  }
  listen_for_signals();
  options.copy.replace = true;
  options.copy.sync = true; // its bytes are nowhere else afterwards
  Report report("ses-migrate", options.verbose, options.json);
  Runner runner(options.copy, options.only, options.jobs, report);
  for (const std::string &file : options.files) {
    try {
      const Entry entry = entry_of(file);
      struct stat status {};
      if (!entry.status(status)) {
        throw failed(file, "cannot be read");
      }
      if (!S_ISREG(status.st_mode)) {
        throw Failure(file, "is not a regular file; for a directory: "
                            "find DIRECTORY -type f -exec ses-migrate {} +");
      }
      runner.give(entry, entry, status, Name::kTaken);
    } catch (const Failure &failure) {
      report.failure(failure.what());
    }
  }
  runner.wait();
  return runner.finish();
}

} // namespace
} // namespace ses::copy

int main(int argc, char **argv) {
  using namespace ses::copy;
  try {
    int status = 0;
    auto options = parse_options(kProgram, argc, argv, status);
    return options ? run(std::move(*options)) : status;
  } catch (const std::exception &failure) { // no memory
    std::fprintf(stderr, "ses-migrate: %s\n", failure.what());
    return 1;
  }
}
