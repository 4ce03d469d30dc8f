#include "report.h"

#include <cstring>
#include <nlohmann/json.hpp>

namespace ses::run {
namespace {

struct Words {
  const char *name;
  const char *fact;
};

// By Kind: its name, and what is particular about it.
constexpr Words kWords[] = {
    {"dynamic", ""},
    {"musl", "built with musl, not with glibc: "},
    {"static", "a static program, which loads no library: "},
    {"go", "a Go program, which makes its system calls by itself: "},
    {"other-linker", "its dynamic linker is not glibc's: "},
    {"32-bit", "a 32-bit program: "},
    {"other-machine", "built for another processor: "},
    {"setuid", "runs with more rights than its caller, so nobody may meddle: "},
    {"clears-environment", "a script whose env -i clears LD_PRELOAD: "},
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

const char *name_of(OwnFilter filter) {
  constexpr const char *kNames[] = {"none", "listener", "other", "harmless"};
  return kNames[static_cast<size_t>(filter)];
}

std::string subject(const Target &target) {
  std::string text = target.path.empty() ? target.name : target.path;
  if (!target.interpreters.empty()) {
    text += " (run by " + target.interpreters.back() + ")";
  }
  return text;
}

constexpr const char *kFileSystem = "its files go where the file system puts them; on Lustre, ses "
                                    "apply sets a default for their directory";

std::string who_places(const Finding &finding) {
  if (finding.filter == OwnFilter::kOther) {
    return std::string("ses-run was started under a seccomp filter, as containers are, which may "
                       "forbid what placing needs: ") +
           kFileSystem;
  }
  if (finding.filter == OwnFilter::kListener && finding.reach == Reach::kSupervisor) {
    return "ses-run was started under a supervisor, which places its files if it is that of "
           "ses-run "
           "--supervise";
  }
  switch (finding.reach) {
  case Reach::kLibrary:
    return "the preload library places its files";
  case Reach::kSupervisor:
    return finding.supervised ? "the supervisor places its files"
                              : "ses-run --supervise places its files";
  default:
    return kFileSystem;
  }
}

} // namespace

bool is_placed(const Finding &finding) {
  return finding.reach == Reach::kLibrary ||
         (finding.reach == Reach::kSupervisor && finding.supervised);
}

std::string sentence(const Finding &finding) {
  const Target &target = finding.target;
  if (target.kind == Kind::kMissing) {
    const std::string reason = std::strerror(target.error);
    return target.missing == target.name
               ? target.name + ": " + reason
               : subject(target) + ": its interpreter " + target.missing + ": " + reason;
  }
  std::string text = subject(target) + ": " + words_of(target.kind).fact + who_places(finding);
  if (reach_of(target) == Reach::kLibrary && finding.reach == Reach::kNothing &&
      finding.filter == OwnFilter::kNone) {
    text +=
        " (" + finding.no_library + "; is libses installed beside ses-run? Else: --library FILE)";
  } else if (target.has_asan && finding.reach == Reach::kLibrary) {
    text += "; for AddressSanitizer, ASAN_OPTIONS gets verify_asan_link_order=0";
  }
  const std::string lack = is_placed(finding) ? lack_of(finding.node) : "";
  return lack.empty() ? text : text + "; but " + lack;
}

std::string as_json(const Finding &finding) {
  const Target &target = finding.target;
  const Node &node = finding.node;
  const nlohmann::ordered_json report = {
      {"program", target.name},
      {"path", target.path},
      {"kind", words_of(target.kind).name},
      {"interpreters", target.interpreters},
      {"asan", target.has_asan},
      {"reach", name_of(finding.reach)},
      {"filter", name_of(finding.filter)},
      {"library", finding.library},
      {"agent", node.no_agent.empty()},
      {"managed", node.has_table ? nlohmann::ordered_json(node.mounts) : nlohmann::ordered_json()},
      {"message", sentence(finding)},
  };
  return report.dump(2, ' ', true, nlohmann::json::error_handler_t::replace);
}

} // namespace ses::run
