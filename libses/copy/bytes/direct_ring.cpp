#include "bytes/direct_ring.h"

#include <liburing.h>
#include <sys/mman.h>

#include <algorithm>
#include <array>
#include <cerrno>

namespace ses::copy {
namespace {

constexpr unsigned kDepth = 8;                       // transfers at once
constexpr std::size_t kBlock = std::size_t{2} << 20; // bytes of one transfer

// One buffer and what it is doing: a block is read whole, then written whole.
struct Slot {
  off_t at = 0;         // of the block, in both files
  std::size_t size = 0; // of the block, in bytes
  std::size_t done = 0; // of the present transfer
  bool writing = false;
};

class Ring {
public:
  Ring() {
    memory_ =
        mmap(nullptr, kDepth * kBlock, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (memory_ == MAP_FAILED) {
      error_ = errno;
      return;
    }
    error_ = -io_uring_queue_init(kDepth, &ring_, 0);
    if (error_ != 0) {
      return;
    }
    ready_ = true;
    std::array<iovec, kDepth> buffers{};
    for (unsigned number = 0; number < kDepth; ++number) {
      buffers[number] = {buffer(number), kBlock};
    }
    // Refused where RLIMIT_MEMLOCK is small: then each transfer names its memory.
    fixed_ = io_uring_register_buffers(&ring_, buffers.data(), kDepth) == 0;
  }
  Ring(const Ring &) = delete;
  Ring &operator=(const Ring &) = delete;
  ~Ring() {
    if (ready_) {
      io_uring_queue_exit(&ring_);
    }
    if (memory_ != MAP_FAILED) {
      munmap(memory_, kDepth * kBlock);
    }
  }

  [[nodiscard]] int error() const { return error_; }

  void start(unsigned number, const Slot &slot, int fd) {
    io_uring_sqe *entry = io_uring_get_sqe(&ring_); // never NULL: kDepth entries for kDepth slots
    char *from = static_cast<char *>(buffer(number)) + slot.done;
    const auto size = static_cast<unsigned>(slot.size - slot.done);
    const auto at = static_cast<std::uint64_t>(slot.at) + slot.done;
    const int index = static_cast<int>(number);
    if (slot.writing) {
      fixed_ ? io_uring_prep_write_fixed(entry, fd, from, size, at, index)
             : io_uring_prep_write(entry, fd, from, size, at);
    } else {
      fixed_ ? io_uring_prep_read_fixed(entry, fd, from, size, at, index)
             : io_uring_prep_read(entry, fd, from, size, at);
    }
    io_uring_sqe_set_data64(entry, number);
  }

  // Waits for one transfer; its slot's number in NUMBER, its result returned.
  int wait(unsigned &number) {
    int submitted = io_uring_submit_and_wait(&ring_, 1);
    while (submitted == -EINTR) {
      submitted = io_uring_submit_and_wait(&ring_, 1);
    }
    io_uring_cqe *event = nullptr;
    int failure = submitted < 0 ? submitted : io_uring_peek_cqe(&ring_, &event);
    while (failure == -EAGAIN || failure == -EINTR) {
      failure = io_uring_wait_cqe(&ring_, &event);
    }
    if (failure != 0) {
      number = kDepth;
      return failure;
    }
    number = static_cast<unsigned>(io_uring_cqe_get_data64(event));
    const int result = event->res;
    io_uring_cqe_seen(&ring_, event);
    return result;
  }

private:
  [[nodiscard]] void *buffer(unsigned number) const {
    return static_cast<char *>(memory_) + number * kBlock;
  }

  void *memory_ = MAP_FAILED;
  io_uring ring_{};
  bool ready_ = false;
  bool fixed_ = false;
  int error_ = 0;
};

std::size_t aligned_up(std::size_t size) {
  const auto unit = static_cast<std::size_t>(kAlignment);
  return (size + unit - 1) / unit * unit;
}

} // namespace

Moved by_direct_ring(int in, int out, off_t offset, off_t length, Watch watch) {
  Ring ring;
  if (ring.error() != 0) {
    const bool absent = ring.error() != ENOMEM;
    return {absent ? Outcome::kNotPossible : Outcome::kFailed, ring.error()};
  }
  const off_t end = offset + length;
  std::array<Slot, kDepth> slots{};
  unsigned running = 0;
  Moved result;
  const auto begin = [&](unsigned number) {
    if (offset >= end || result.outcome != Outcome::kDone || watch.stop.load()) {
      return;
    }
    const auto size = static_cast<std::size_t>(std::min<off_t>(kBlock, end - offset));
    slots[number] = {offset, aligned_up(size), 0, false};
    offset += static_cast<off_t>(size);
    ring.start(number, slots[number], in);
    ++running;
  };
  for (unsigned number = 0; number < kDepth; ++number) {
    begin(number);
  }
  // Transfers that run are always waited for: the kernel writes into their buffers.
  while (running > 0) {
    unsigned number = 0;
    const int moved = ring.wait(number);
    if (number == kDepth) {
      return {Outcome::kFailed, -moved};
    }
    --running;
    Slot &slot = slots[number];
    const bool again = moved == -EINTR || moved == -EAGAIN;
    if (moved < 0 && !again) {
      const bool unsuited = moved == -EINVAL || moved == -EOPNOTSUPP || moved == -ENOSYS;
      result = {unsuited ? Outcome::kNotPossible : Outcome::kFailed, -moved};
      continue;
    }
    slot.done += again ? 0 : static_cast<std::size_t>(moved);
    const off_t real_end = std::min<off_t>(slot.at + static_cast<off_t>(slot.size), end);
    const bool whole = slot.at + static_cast<off_t>(slot.done) >= real_end;
    if (moved == 0 && !whole) {
      result = {Outcome::kShort, 0};
    } else if (!whole) {
      ring.start(number, slot, slot.writing ? out : in);
      ++running;
    } else if (!slot.writing) {
      slot.writing = true;
      slot.done = 0;
      ring.start(number, slot, out);
      ++running;
    } else {
      watch.moved.fetch_add(static_cast<std::uint64_t>(real_end - slot.at),
                            std::memory_order_relaxed);
      begin(number);
    }
  }
  if (result.outcome == Outcome::kDone && offset < end) {
    result.outcome = Outcome::kStopped;
  }
  return result;
}

} // namespace ses::copy
