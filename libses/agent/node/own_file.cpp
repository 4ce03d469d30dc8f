#include "node/own_file.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <cstring>

#include "node/unique_fd.h"

namespace ses::agent {

std::string read_own(const std::string &path, size_t most) {
  const UniqueFd file(open(path.c_str(), O_RDONLY | O_NONBLOCK | O_CLOEXEC | O_NOFOLLOW));
  struct stat status {};
  if (!file || fstat(file.get(), &status) != 0 || !S_ISREG(status.st_mode) ||
      status.st_uid != geteuid() || (status.st_mode & 022) != 0 ||
      static_cast<size_t>(status.st_size) > most) {
    return "";
  }
  std::string text(static_cast<size_t>(status.st_size), '\0');
  const ssize_t length = read(file.get(), text.data(), text.size());
  text.resize(length > 0 ? static_cast<size_t>(length) : 0);
  return text;
}

std::string write_own(const std::string &directory, const std::string &name,
                      const std::string &text, mode_t mode) {
  const std::string path = directory + name, other = path + ".tmp";
  if (mkdir(directory.c_str(), 0755) != 0 && errno != EEXIST) {
    return directory + ": " + std::strerror(errno);
  }
  unlink(other.c_str());
  const UniqueFd file(
      open(other.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, mode));
  if (file) {
    (void)fchmod(file.get(), mode);
    errno = ENOSPC; // of a write that is cut short
  }
  if (!file || write(file.get(), text.data(), text.size()) != static_cast<ssize_t>(text.size()) ||
      rename(other.c_str(), path.c_str()) != 0) {
    const std::string why = path + ": " + std::strerror(errno);
    unlink(other.c_str());
    return why;
  }
  return "";
}

} // namespace ses::agent
