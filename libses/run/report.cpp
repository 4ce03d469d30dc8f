#include "report.h"

#include <cstring>
#include <nlohmann/json.hpp>

namespace ses::run {
namespace {

struct Words {
  const char *name;
  const char *sentence;
};

// By Kind.
constexpr Words kWords[] = {
    {"dynamic", "the preload library places its files"},
    {"musl", "built with musl: its files go where the file "
             "system puts them"},
    {"static",
     "a static program, which loads no library: its files go where the file system puts them"},
    {"go", "a Go program, which makes its system calls by itself: its files go where "
           "the file system puts them"},
    {"other-linker",
     "its dynamic linker is not glibc's: its files go where the file system puts them"},
    {"32-bit", "a 32-bit program: its files go where the file system puts them; set a default for "
               "their directory with ses apply"},
    {"other-machine", "built for another processor: its files go where the file system puts them"},
    {"setuid", "runs with more rights than its caller, so nothing may be loaded into it: its files "
               "go where the file system puts them"},
    {"clears-environment", "a script whose env -i clears LD_PRELOAD: its files go where "
                           "the file system puts them"},
    {"missing", ""},
};

const Words &words_of(Kind kind) { return kWords[static_cast<size_t>(kind)]; }

const char *name_of(Reach reach) {
  switch (reach) {
  case Reach::kLibrary:
    return "library";
  case Reach::kSupervisor:
    return "supervisor";
  default:
    return "nothing";
  }
}

std::string subject(const Target &target) {
  std::string text = target.path.empty() ? target.name : target.path;
  if (!target.interpreters.empty()) {
    text += " (run by " + target.interpreters.back() + ")";
  }
  return text;
}

} // namespace

std::string sentence(const Finding &finding) {
  const Target &target = finding.target;
  if (target.kind == Kind::kMissing) {
    const std::string reason = std::strerror(target.error);
    return target.missing == target.name
               ? target.name + ": " + reason
               : subject(target) + ": its interpreter " + target.missing + ": " + reason;
  }
  if (target.kind == Kind::kDynamic && !finding.no_library.empty()) {
    return subject(target) +
           ": its files go where the file system puts them: " + finding.no_library +
           "; is libses installed beside ses-run? Else: --library FILE";
  }
  std::string text = subject(target) + ": " + words_of(target.kind).sentence;
  if (target.has_asan && target.kind == Kind::kDynamic) {
    text += "; for AddressSanitizer, ASAN_OPTIONS gets verify_asan_link_order=0";
  }
  return text;
}

std::string as_json(const Finding &finding) {
  const Target &target = finding.target;
  const nlohmann::ordered_json report = {
      {"program", target.name},
      {"path", target.path},
      {"kind", words_of(target.kind).name},
      {"interpreters", target.interpreters},
      {"asan", target.has_asan},
      {"reach", name_of(finding.reach)},
      {"library", finding.library},
      {"message", sentence(finding)},
  };
  return report.dump(2, ' ', false, nlohmann::json::error_handler_t::replace);
}

} // namespace ses::run
