// A file descriptor that is closed when its owner goes away.
#ifndef SES_AGENT_UNIQUE_FD_H
#define SES_AGENT_UNIQUE_FD_H

#include <fcntl.h>
#include <unistd.h>

#include <memory>
#include <utility>

namespace ses::agent {

class UniqueFd {
public:
  UniqueFd() = default;
  explicit UniqueFd(int fd) : fd_(fd) {}
  UniqueFd(UniqueFd &&other) noexcept : fd_(std::exchange(other.fd_, -1)) {}
  UniqueFd &operator=(UniqueFd &&other) noexcept {
    if (this != &other) {
      reset(std::exchange(other.fd_, -1));
    }
    return *this;
  }
  UniqueFd(const UniqueFd &) = delete;
  UniqueFd &operator=(const UniqueFd &) = delete;
  ~UniqueFd() { reset(); }

  [[nodiscard]] int get() const { return fd_; }
  [[nodiscard]] explicit operator bool() const { return fd_ >= 0; }

  // The descriptor, from now on the caller's to close.
  [[nodiscard]] int release() { return std::exchange(fd_, -1); }

  void reset(int fd = -1) {
    if (fd_ >= 0) {
      ::close(fd_);
    }
    fd_ = fd;
  }

private:
  int fd_ = -1;
};

// Another descriptor of what FD is of, for a call that may outlive its caller.
[[nodiscard]] inline std::shared_ptr<const UniqueFd> copy_of(int fd) {
  return std::make_shared<const UniqueFd>(fcntl(fd, F_DUPFD_CLOEXEC, 0));
}

} // namespace ses::agent

#endif // SES_AGENT_UNIQUE_FD_H
