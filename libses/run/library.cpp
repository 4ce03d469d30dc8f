#include "library.h"

#include <unistd.h>

#include <filesystem>
#include <system_error>

namespace ses::run {
namespace {

namespace fs = std::filesystem;
constexpr const char *kFile = "libses-wrapper.so";

Library checked(const fs::path &file, const std::string &entry) {
  if (access(file.c_str(), R_OK) != 0) {
    return {"", "", file.string() + " cannot be read"};
  }
  if (entry.find_first_of(" :") != std::string::npos) { // the dynamic linker splits there
    return {"", "", "LD_PRELOAD cannot name " + entry + ": a space or colon is in it"};
  }
  return {entry, file.string(), ""};
}

} // namespace

Library find_library(const std::string &given) {
  std::error_code ignored;
  if (!given.empty()) {
    const fs::path file = fs::absolute(given, ignored);
    return checked(file, file.string());
  }
  const fs::path self = fs::read_symlink("/proc/self/exe", ignored);
  const fs::path here = self.parent_path();
  if (here.filename() == SES_BIN_DIRECTORY) {
    const fs::path installed = here.parent_path();
    return checked(installed / SES_REAL_LIB_DIRECTORY / kFile,
                   (installed / SES_LIB_DIRECTORY / kFile).string());
  }
  const fs::path built = here.parent_path() / kFile;
  return checked(built, built.string());
}

} // namespace ses::run
