#include "server/descriptors.h"

#include <fcntl.h>
#include <spdlog/spdlog.h>
#include <sys/socket.h>

#include <condition_variable>
#include <cstring>
#include <mutex>
#include <system_error>
#include <thread>
#include <vector>

namespace ses::agent {
namespace {

constexpr size_t kMostOfMessage = 253; // SCM_MAX_FD in the kernel's include/net/scm.h
constexpr size_t kFull = 256;

bool is_path_only(const UniqueFd &fd) {
  const int flags = fcntl(fd.get(), F_GETFL);
  return flags >= 0 && (flags & O_PATH) != 0;
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

bool DescriptorBin::full() const {
  const std::lock_guard lock(heap_->mutex);
  return heap_->waiting.size() >= kFull;
}

ssize_t receive(int socket, std::span<std::byte> buffer, UniqueFd &handle, DescriptorBin &bin) {
  // Room for all that can come: what has none the kernel closes here and now.
  alignas(cmsghdr) char control[CMSG_SPACE(kMostOfMessage * sizeof(int))];
  iovec text{buffer.data(), buffer.size()};
  msghdr message{};
  message.msg_iov = &text;
  message.msg_iovlen = 1;
  if (!bin.full()) {
    message.msg_control = control;
    message.msg_controllen = sizeof control;
  }
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
