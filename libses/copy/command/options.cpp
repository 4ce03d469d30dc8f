#include "command/options.h"

#include <fcntl.h>
#include <getopt.h>
#include <unistd.h>

#include <algorithm>
#include <charconv>
#include <cstdio>
#include <fstream>
#include <string_view>
#include <thread>

#include "system/visible.h"

namespace ses::copy {
namespace {

enum Option {
  kRequire = 1,
  kApplication,
  kWay,
  kDirectFrom,
  kResume,
  kVerify,
  kSync,
  kNoClobber,
  kAssumeUnused,
  kJobs,
  kVerbose,
  kJson,
  kHelpOption,
  kVersion
};

constexpr option kOptions[] = {
    {"require", required_argument, nullptr, kRequire},
    {"application", required_argument, nullptr, kApplication},
    {"way", required_argument, nullptr, kWay},
    {"direct-from", required_argument, nullptr, kDirectFrom},
    {"resume", no_argument, nullptr, kResume},
    {"verify", no_argument, nullptr, kVerify},
    {"sync", no_argument, nullptr, kSync},
    {"no-clobber", no_argument, nullptr, kNoClobber},
    {"assume-unused", no_argument, nullptr, kAssumeUnused},
    {"jobs", required_argument, nullptr, kJobs},
    {"verbose", no_argument, nullptr, kVerbose},
    {"json", no_argument, nullptr, kJson},
    {"help", no_argument, nullptr, kHelpOption},
    {"version", no_argument, nullptr, kVersion},
    {nullptr, 0, nullptr, 0},
};

bool wrong(const Program &program, const std::string &what) {
  misuse(program, what);
  return false;
}

template <typename Number> bool is_number(std::string_view text, Number &number) {
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  return error == std::errc() && end == text.data() + text.size();
}

bool has_option(const Program &program, std::string_view name) {
  const std::string all = std::string(" ") + program.options + " ";
  return all.find(" " + std::string(name) + " ") != std::string::npos;
}

// Takes in one option; false: it is wrong, and an error has been printed.
bool take(const Program &program, Options &options, int which) {
  switch (which) {
  case kRequire:
    options.require = optarg;
    return true;
  case kApplication:
    options.application = optarg;
    return !options.application.empty() || wrong(program, "--application needs a name");
  case kWay:
    options.only = way_named(optarg);
    return options.only ||
           wrong(program, "--way is reflink, copy_file_range, direct, splice or read-write");
  case kDirectFrom:
    return (is_number(optarg, options.copy.direct_from) && options.copy.direct_from >= 0) ||
           wrong(program, "--direct-from needs a number of bytes");
  case kResume:
    return options.copy.resume = true;
  case kVerify:
    return options.copy.verify = true;
  case kSync:
    return options.copy.sync = true;
  case kNoClobber:
    return options.no_clobber = true;
  case kAssumeUnused:
    return options.copy.assume_unused = true;
  case kJobs:
    return (is_number(optarg, options.jobs) && options.jobs >= 1 && options.jobs <= 256) ||
           wrong(program, "--jobs needs a number from 1 to 256");
  case kVerbose:
    return options.verbose = true;
  case kJson:
    return options.json = true;
  default:
    return false;
  }
}

// Those that are closed would be the next files that are opened, and messages would go into them.
void open_standard_streams() {
  for (int fd = STDIN_FILENO; fd <= STDERR_FILENO; ++fd) {
    if (fcntl(fd, F_GETFD) < 0) {
      open("/dev/null", O_RDWR); // as the lowest that is free
    }
  }
}

off_t available_memory() {
  std::ifstream file("/proc/meminfo");
  for (std::string word; file >> word;) {
    if (word == "MemAvailable:") {
      off_t kib = 0;
      file >> kib;
      return kib * 1024;
    }
  }
  return static_cast<off_t>(sysconf(_SC_PHYS_PAGES)) * sysconf(_SC_PAGESIZE);
}

} // namespace

int misuse(const Program &program, const std::string &what) {
  std::fprintf(stderr, "%s: %s\nTry '%s --help'.\n", program.name, visible(what).c_str(),
               program.name);
  return kMisuse;
}

std::optional<Options> parse_options(const Program &program, int argc, char **argv, int &status) {
  open_standard_streams();
  Options options;
  options.copy.direct_from = available_memory() / 4;
  options.jobs = std::clamp(std::thread::hardware_concurrency(), 2U, 8U);
  status = kMisuse;
  opterr = 0;
  int which = 0;
  int index = -1;
  while ((which = getopt_long(argc, argv, ":", kOptions, &index)) != -1) {
    if (which == '?' || which == ':' || !has_option(program, kOptions[index].name)) {
      const std::string what = argv[optind - 1];
      wrong(program, which == ':' ? what + " needs a value" : what + " is no option");
      return std::nullopt;
    }
    if (which == kHelpOption || which == kVersion) {
      const std::string text = which == kHelpOption
                                   ? program.help
                                   : std::string(program.name) + " " SES_COPY_VERSION "\n";
      status = std::fputs(text.c_str(), stdout) >= 0 && std::fflush(stdout) == 0 ? 0 : 1;
      return std::nullopt;
    }
    if (!take(program, options, which)) {
      return std::nullopt;
    }
  }
  for (int number = optind; number < argc; ++number) {
    if (argv[number][0] == '\0') {
      wrong(program, "an empty name is no file");
      return std::nullopt;
    }
    options.files.emplace_back(argv[number]);
  }
  std::string why;
  options.copy.needs = policy_of(options.require, options.application, why);
  if (options.copy.needs == nullptr) {
    wrong(program, why);
    return std::nullopt;
  }
  return options;
}

} // namespace ses::copy
