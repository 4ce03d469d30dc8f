#include "bytes/bytes.h"

#include <fcntl.h>
#include <linux/fs.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <memory>

#include "bytes/direct_ring.h"
#include "system/descriptor.h"

namespace ses::copy {
namespace {

constexpr std::size_t kBuffer = std::size_t{1} << 20;

bool says_not_possible(int error) {
  switch (error) {
  case EXDEV:
  case EOPNOTSUPP:
  case ENOSYS:
  case ENOTTY:
  case EINVAL:
  case EBADF:
  case EPERM:
  case ETXTBSY:
    return true;
  default:
    return false;
  }
}

Moved ended_with(int error) {
  return {says_not_possible(error) ? Outcome::kNotPossible : Outcome::kFailed, error};
}

// Repeats STEP(offset, length), which returns bytes, 0 at the end of the source, or -1 with errno.
template <typename Step> Moved repeat(off_t offset, off_t length, Watch watch, Step step) {
  const off_t end = offset + length;
  while (offset < end) {
    if (watch.stop.load(std::memory_order_relaxed)) {
      return {Outcome::kStopped, 0};
    }
    const ssize_t moved = step(offset, std::min(kStep, end - offset));
    if (moved < 0) {
      if (errno == EINTR) {
        continue;
      }
      return ended_with(errno);
    }
    if (moved == 0) {
      return {Outcome::kShort, 0};
    }
    offset += moved;
    watch.moved.fetch_add(static_cast<std::uint64_t>(moved), std::memory_order_relaxed);
  }
  return {};
}

Moved by_the_kernel(int in, int out, off_t offset, off_t length, Watch watch) {
  return repeat(offset, length, watch, [in, out](off_t at, off_t size) {
    off_t from = at;
    off_t to = at;
    return copy_file_range(in, &from, out, &to, static_cast<std::size_t>(size), 0);
  });
}

struct Pipe {
  Descriptor out;
  Descriptor in;

  // 0, or an errno.
  int open() {
    int ends[2];
    if (pipe2(ends, O_CLOEXEC) != 0) {
      return errno;
    }
    out = Descriptor(ends[0]);
    in = Descriptor(ends[1]);
    fcntl(ends[1], F_SETPIPE_SZ, static_cast<int>(kBuffer)); // smaller is slower, not wrong
    return 0;
  }
};

Moved by_splice(int in, int out, off_t offset, off_t length, Watch watch) {
  thread_local Pipe kept; // empty between two ranges
  Pipe through = std::move(kept);
  if (const int error = through.out ? 0 : through.open(); error != 0) {
    return {Outcome::kFailed, error};
  }
  const Moved moved = repeat(offset, length, watch, [&](off_t at, off_t size) -> ssize_t {
    off_t from = at;
    off_t to = at;
    const auto wanted = std::min<std::size_t>(static_cast<std::size_t>(size), kBuffer);
    const ssize_t taken = splice(in, &from, through.in.get(), nullptr, wanted, 0);
    for (ssize_t left = taken; left > 0;) {
      const ssize_t given =
          splice(through.out.get(), nullptr, out, &to, static_cast<std::size_t>(left), 0);
      if (given > 0) {
        left -= given;
      } else if (given == 0 || errno != EINTR) {
        return -1;
      }
    }
    return taken;
  });
  if (moved.outcome == Outcome::kDone) {
    kept = std::move(through);
  }
  return moved;
}

// False: not all was written; errno is the reason.
bool write_whole(int out, const char *from, std::size_t size, off_t at) {
  while (size > 0) {
    const ssize_t wrote = pwrite(out, from, size, at);
    if (wrote >= 0) {
      from += wrote;
      at += wrote;
      size -= static_cast<std::size_t>(wrote);
    } else if (errno != EINTR) {
      return false;
    }
  }
  return true;
}

bool is_zero(const char *block, std::size_t size) {
  return block[0] == 0 && std::memcmp(block, block + 1, size - 1) == 0;
}

// As write_whole(), but leaves out blocks of zeros.
bool write_data(int out, const char *from, std::size_t size, off_t at) {
  constexpr auto kBlock = static_cast<std::size_t>(kAlignment);
  std::size_t written = 0; // or left out
  for (std::size_t here = 0; here < size; here += kBlock) {
    const std::size_t block = std::min(kBlock, size - here);
    if (is_zero(from + here, block)) {
      if (!write_whole(out, from + written, here - written, at + static_cast<off_t>(written))) {
        return false;
      }
      written = here + block;
    }
  }
  return write_whole(out, from + written, size - written, at + static_cast<off_t>(written));
}

// PUT is one of the two above.
template <typename Put>
Moved by_a_buffer(int in, int out, off_t offset, off_t length, Watch watch, Put put) {
  thread_local const auto buffer = std::make_unique_for_overwrite<char[]>(kBuffer);
  return repeat(offset, length, watch, [&](off_t at, off_t size) -> ssize_t {
    const auto wanted = std::min<std::size_t>(static_cast<std::size_t>(size), kBuffer);
    const ssize_t taken = pread(in, buffer.get(), wanted, at);
    const bool is_put = taken < 0 || put(out, buffer.get(), static_cast<std::size_t>(taken), at);
    return is_put ? taken : -1;
  });
}

} // namespace

Moved reflink(int in, int out) {
  return ioctl(out, FICLONE, in) == 0 ? Moved{} : ended_with(errno);
}

Moved move_range(Way way, int in, int out, off_t offset, off_t length, Watch watch) {
  switch (way) {
  case Way::kCopyFileRange:
    return by_the_kernel(in, out, offset, length, watch);
  case Way::kDirect:
    return by_direct_ring(in, out, offset, length, watch);
  case Way::kSplice:
    return by_splice(in, out, offset, length, watch);
  default:
    return by_a_buffer(in, out, offset, length, watch, write_whole);
  }
}

Moved move_data(int in, int out, off_t offset, off_t length, Watch watch) {
  return by_a_buffer(in, out, offset, length, watch, write_data);
}

} // namespace ses::copy
