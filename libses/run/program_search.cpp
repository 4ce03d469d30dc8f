#include "program_search.h"

#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstdlib>
#include <sstream>

namespace ses::run {
namespace {

// 0, or why PATH cannot be run.
int why_not(const std::string &path) {
  struct stat status {};
  if (stat(path.c_str(), &status) != 0) {
    return errno == ENOTDIR ? ENOENT : errno;
  }
  return !S_ISREG(status.st_mode) || access(path.c_str(), X_OK) != 0 ? EACCES : 0;
}

} // namespace

Program find_program(const std::string &name) {
  if (name.find('/') != std::string::npos) {
    const int error = why_not(name);
    return error == 0 ? Program{name, 0} : Program{"", error};
  }
  const char *path = std::getenv("PATH");
  std::string directories = path != nullptr ? path : "/bin:/usr/bin"; // execvp()'s own
  directories += ':'; // getline() does not see an empty last entry
  std::istringstream list(directories);
  int error = ENOENT;
  for (std::string directory; !name.empty() && std::getline(list, directory, ':');) {
    const std::string candidate = (directory.empty() ? "." : directory) + "/" + name;
    const int failed = why_not(candidate);
    if (failed == 0) {
      return {candidate, 0};
    }
    if (failed == EACCES) {
      error = EACCES;
    }
  }
  return {"", error};
}

} // namespace ses::run
