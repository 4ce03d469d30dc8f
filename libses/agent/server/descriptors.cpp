#include "server/descriptors.h"

#include <fcntl.h>
#include <sched.h>
#include <spdlog/spdlog.h>
#include <sys/socket.h>
#include <sys/stat.h>

#include <condition_variable>
#include <cstring>
#include <latch>
#include <mutex>
#include <system_error>
#include <thread>
#include <vector>

namespace ses::agent {
namespace {

constexpr size_t kMaxOfMessage = 253; // SCM_MAX_FD in the kernel's include/net/scm.h
constexpr size_t kFull = 256;

bool is_path_only(const UniqueFd &fd) {
  const int flags = fcntl(fd.get(), F_GETFL);
  return flags >= 0 && (flags & O_PATH) != 0;
}

bool is_socket(const UniqueFd &fd) {
  struct stat status {};
  return fstat(fd.get(), &status) == 0 && S_ISSOCK(status.st_mode);
}

// Has the next message of SOCKET anything with it?
bool brings_something(int socket) {
  msghdr message{};
  return recvmsg(socket, &message, MSG_PEEK | MSG_DONTWAIT) >= 0 &&
         (message.msg_flags & MSG_CTRUNC) != 0;
}

} // namespace

struct DescriptorBin::Heap {
  std::mutex mutex;
  std::condition_variable wake;
  std::vector<int> waiting;
  bool stopping = false;

  void work() {
    std::unique_lock lock(mutex);
    for (;;) {
      wake.wait(lock, [this] { return stopping || !waiting.empty(); });
      if (stopping) {
        return;
      }
      UniqueFd fd(waiting.back());
      waiting.pop_back();
      lock.unlock();
      fd.reset(); // takes as long as it likes
      lock.lock();
    }
  }
};

DescriptorBin::DescriptorBin() : heap_(std::make_shared<Heap>()) {}

DescriptorBin::~DescriptorBin() {
  const std::lock_guard lock(heap_->mutex);
  heap_->stopping = true;
  heap_->wake.notify_all();
}

void DescriptorBin::discard(UniqueFd fd) {
  if (!fd || is_path_only(fd)) {
    return;
  }
  if (is_socket(fd)) {
    sockets_.push_back(std::move(fd));
    return;
  }
  if (!has_thread_) { // an agent that is sent nothing strange never has it
    try {
      std::thread([heap = heap_] { heap->work(); }).detach();
      has_thread_ = true;
    } catch (const std::system_error &error) {
      spdlog::warn("no thread to close what programs send ({}); it stays open", error.what());
    }
  }
  const std::lock_guard lock(heap_->mutex);
  heap_->waiting.push_back(fd.release());
  heap_->wake.notify_all();
}

// With its sender's name on it every message brings something, and none comes after the shutdown.
void DescriptorBin::hang_up(UniqueFd connection) {
  const int on = 1;
  setsockopt(connection.get(), SOL_SOCKET, SO_PASSCRED, &on, sizeof on);
  shutdown(connection.get(), SHUT_RDWR);
  if (brings_something(connection.get())) {
    sockets_.push_back(std::move(connection));
  }
}

// A thread with a table of descriptors of its own: the last close is its, at its end.
void DescriptorBin::empty() {
  struct Steps {
    std::latch copied{1}, closed{1};
    bool is_copied = false;
  };
  if (sockets_.empty()) {
    return;
  }
  const auto steps = std::make_shared<Steps>();
  try {
    std::thread([steps] {
      steps->is_copied = unshare(CLONE_FILES) == 0;
      steps->copied.count_down();
      steps->closed.wait();
    }).detach();
  } catch (const std::system_error &) { // no thread to be had: the next time
    return;
  }
  steps->copied.wait();
  if (steps->is_copied) {
    sockets_.clear();
  }
  steps->closed.count_down();
}

bool DescriptorBin::full() const {
  const std::lock_guard lock(heap_->mutex);
  return heap_->waiting.size() >= kFull;
}

ssize_t receive(int socket, std::span<std::byte> buffer, UniqueFd &handle, DescriptorBin &bin) {
  if (bin.full() && brings_something(socket)) {
    return 0;
  }
  // Room for all that can come: what has none the kernel closes here and now.
  alignas(cmsghdr) char control[CMSG_SPACE(kMaxOfMessage * sizeof(int))];
  iovec text{buffer.data(), buffer.size()};
  msghdr message{};
  message.msg_iov = &text;
  message.msg_iovlen = 1;
  message.msg_control = control;
  message.msg_controllen = sizeof control;
  const ssize_t length = recvmsg(socket, &message, MSG_DONTWAIT | MSG_CMSG_CLOEXEC);
  if (length < 0) {
    return length;
  }
  std::vector<UniqueFd> came;
  for (cmsghdr *part = CMSG_FIRSTHDR(&message); part != nullptr;
       part = CMSG_NXTHDR(&message, part)) {
    if (part->cmsg_level != SOL_SOCKET || part->cmsg_type != SCM_RIGHTS) {
      continue;
    }
    const size_t count = (part->cmsg_len - CMSG_LEN(0)) / sizeof(int);
    for (size_t i = 0; i < count; ++i) {
      int fd = -1;
      std::memcpy(&fd, CMSG_DATA(part) + i * sizeof fd, sizeof fd);
      came.emplace_back(fd);
    }
  }
  if (came.size() == 1 && (message.msg_flags & MSG_CTRUNC) == 0 && is_path_only(came[0])) {
    handle = std::move(came[0]);
    return length;
  }
  for (UniqueFd &fd : came) {
    bin.discard(std::move(fd));
  }
  return length;
}

} // namespace ses::agent
