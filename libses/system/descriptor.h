// A descriptor that is closed when its owner goes.
#ifndef SES_SYSTEM_DESCRIPTOR_H
#define SES_SYSTEM_DESCRIPTOR_H

#include <unistd.h>

#include <utility>

namespace ses {

class Descriptor {
public:
  explicit Descriptor(int fd = -1) : fd_(fd) {}
  Descriptor(Descriptor &&other) noexcept : fd_(std::exchange(other.fd_, -1)) {}
  Descriptor &operator=(Descriptor &&other) noexcept {
    std::swap(fd_, other.fd_);
    return *this;
  }
  ~Descriptor() {
    if (fd_ >= 0) {
      close(fd_);
    }
  }

  [[nodiscard]] int get() const { return fd_; }
  // The caller closes it from now on.
  [[nodiscard]] int release() { return std::exchange(fd_, -1); }
  explicit operator bool() const { return fd_ >= 0; }

private:
  int fd_;
};

} // namespace ses

#endif // SES_SYSTEM_DESCRIPTOR_H
