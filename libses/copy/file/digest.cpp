#include "file/digest.h"

#include <fcntl.h>
#include <unistd.h>
#include <xxhash.h>

#include <algorithm>
#include <cstdio>
#include <memory>

#include "file/failure.h"

namespace ses::copy {
namespace {

constexpr off_t kBuffer = off_t{1} << 20;

struct Free {
  void operator()(XXH3_state_t *state) const { XXH3_freeState(state); }
};

} // namespace

std::string digest_of(int fd, off_t size, const std::string &path) {
  const std::unique_ptr<XXH3_state_t, Free> state(XXH3_createState());
  const auto buffer = std::make_unique_for_overwrite<char[]>(static_cast<std::size_t>(kBuffer));
  if (state == nullptr || XXH3_128bits_reset(state.get()) != XXH_OK) {
    throw std::bad_alloc();
  }
  posix_fadvise(fd, 0, size, POSIX_FADV_SEQUENTIAL);
  for (off_t at = 0; at < size;) {
    const ssize_t got =
        pread(fd, buffer.get(), static_cast<std::size_t>(std::min(kBuffer, size - at)), at);
    if (got < 0 && errno == EINTR) {
      continue;
    }
    if (got < 0) {
      throw failed(path, "cannot be read for its checksum");
    }
    if (got == 0) {
      throw Failure(path, "is shorter than it was");
    }
    XXH3_128bits_update(state.get(), buffer.get(), static_cast<std::size_t>(got));
    at += got;
  }
  const XXH128_hash_t hash = XXH3_128bits_digest(state.get());
  char text[33];
  std::snprintf(text, sizeof text, "%016llx%016llx", static_cast<unsigned long long>(hash.high64),
                static_cast<unsigned long long>(hash.low64));
  return text;
}

std::string digest_on_device(int fd, off_t size, const std::string &path) {
  if (fdatasync(fd) != 0) {
    throw failed(path, "cannot be brought to the device");
  }
  posix_fadvise(fd, 0, 0, POSIX_FADV_DONTNEED);
  return digest_of(fd, size, path);
}

} // namespace ses::copy
