// What went wrong with one file, for a person: the path, and the cause.
#ifndef SES_COPY_FAILURE_H
#define SES_COPY_FAILURE_H

#include <linux/limits.h>

#include <cerrno>
#include <cstring>
#include <stdexcept>
#include <string>

namespace ses::copy {

class Failure : public std::runtime_error {
public:
  Failure(const std::string &path, const std::string &why, int error = 0)
      : std::runtime_error(path + ": " + why), path_(path), why_(why), error_(error) {}

  [[nodiscard]] const std::string &path() const { return path_; }
  [[nodiscard]] const std::string &why() const { return why_; }

  // The errno behind it; 0: none.
  [[nodiscard]] int error() const { return error_; }

private:
  std::string path_;
  std::string why_;
  int error_;
};

// A system call on PATH failed just now: WHAT could not be done, with errno's text.
inline Failure failed(const std::string &path, const std::string &what) {
  const int error = errno;
  if (error == ENAMETOOLONG && path.size() >= PATH_MAX) {
    return {
        path,
        what + ": its path is longer than the " + std::to_string(PATH_MAX - 1) +
            " bytes that the kernel takes; go into a directory on the way (cd), and copy from or "
            "to there",
        error};
  }
  return {path, what + ": " + std::strerror(error), error};
}

} // namespace ses::copy

#endif // SES_COPY_FAILURE_H
