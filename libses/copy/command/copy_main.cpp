// ses-copy: copies files to where they are served best, by the cheapest way, and reports which.
#include <cstdio>
#include <exception>
#include <utility>

#include "batch/interrupt.h"
#include "batch/report.h"
#include "batch/runner.h"
#include "batch/tree.h"
#include "command/options.h"
#include "file/failure.h"

namespace ses::copy {
namespace {

constexpr const char *kHelp =
    R"(Usage: ses-copy [OPTIONS] SOURCE... TARGET

Copy files and directories, each file to where it is served best.

Each copy is created as a placed file (docs/placement-rules.md) and moved by the
cheapest way that kernel and file systems support between the two places; the
end says which ways were used, and why cheaper ones were not. Directories are
copied with all that is in them. Owner, mode, times, extended attributes, ACLs,
holes, symbolic links and further names (hard links) are kept, as by cp -a.

A copy has its name only when it is whole: until then it is .ses-partial.NAME
beside it. What is there under that name is replaced at once. Interrupted
(Ctrl-C, or killed), ses-copy leaves what it has of files beyond 64 MiB; the
same command with --resume goes on from there.

Options:
  --require TEXT       What the copies need, such as "write>=300MB/s free>=2TB"
                       (docs/placement-rules.md)
  --application NAME   Name that requirements are looked up under.
                       [default: ses-copy]
  --way WAY            Only this way: reflink, copy_file_range, direct, splice
                       or read-write; where it is not possible the file is not
                       copied, and the reason printed
  --direct-from BYTES  Files from this size on bypass the page cache (O_DIRECT).
                       [default: a quarter of the memory that is available]
  --resume             Go on with an interrupted copy: files that are there with
                       the same size and modification time are not copied again
  --verify             Bring each copy to the device, read it and its source
                       again, and compare (XXH3, 128 bits)
  --sync               A copy is on the device before it has its name
  --no-clobber         What is there already stays as it is
  --jobs N             Threads, 1 to 256. [default: as many as processors, at
                       least 2, at most 8]
  --verbose            A line for each file: the way, the element, or why it was
                       not placed
  --json               The end as JSON; with --verbose with each file
  --help               Print this
  --version            Print the version

Exit status: 0 when everything was copied; 1 when something was not, which
standard error names; 2 when the command line is wrong; 128 and the number of
the signal when interrupted.

Examples:
  ses-copy /archive/run1 /srv/union/alice
  ses-copy --verify --require 'read>=1GB/s' input.dat /srv/union/alice
)";

constexpr Program kProgram{"ses-copy", kHelp,
                           "require application way direct-from resume verify sync no-clobber jobs "
                           "verbose json help version"};

int run(Options options) {
  if (options.files.size() < 2) {
    return misuse(kProgram, options.files.empty() ? "what is to be copied, and where to?"
                                                  : "where is it to be copied to?");
  }
  const std::string target = std::move(options.files.back());
  options.files.pop_back();
  listen_for_signals();
  Report report("ses-copy", options.verbose, options.json);
  Runner runner(options.copy, options.only, options.jobs, report);
  Tree tree(options.no_clobber, report, stop_asked,
            [&runner](Entry source, Entry target, const struct stat &file, Name name) {
              runner.give(std::move(source), std::move(target), file, name);
            });
  try {
    tree.walk(options.files, target);
  } catch (const Failure &failure) {
    report.failure(failure.what());
  }
  runner.wait();
  if (!stop_asked) {
    tree.finish();
  }
  const int status = runner.finish();
  if (stop_signal() != 0) {
    std::fputs("ses-copy: interrupted; the same command with --resume goes on\n", stderr);
  } else if (stop_asked) {
    std::fputs(
        "ses-copy: stopped early; once there is room, the same command with --resume goes on\n",
        stderr);
  }
  return status;
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
    std::fprintf(stderr, "ses-copy: %s\n", failure.what());
    return 1;
  }
}
