#include "claims/doorbell.h"

#include <linux/futex.h>
#include <sys/eventfd.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <climits>

namespace ses::agent {
namespace {

long futex(uint32_t &word, int operation, uint32_t value) {
  return syscall(SYS_futex, &word, operation, value, nullptr, nullptr, 0);
}

} // namespace

Doorbell::Doorbell(uint32_t &word)
    : word_(word), woken_(eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK)), rounds_(0),
      thread_([this] { work(); }) {}

Doorbell::~Doorbell() { stop(); }

bool Doorbell::is_armed() const {
  return std::atomic_ref(word_).load(std::memory_order_acquire) == 1;
}

void Doorbell::arm() {
  std::atomic_ref(word_).store(1, std::memory_order_seq_cst);
  rounds_.fetch_add(1, std::memory_order_release);
  rounds_.notify_one();
}

void Doorbell::disarm() {
  if (std::atomic_ref(word_).exchange(0, std::memory_order_acq_rel) == 1) {
    futex(word_, FUTEX_WAKE, INT_MAX);
  }
}

void Doorbell::work() {
  for (uint32_t round = 0; !stopping_;) {
    rounds_.wait(round, std::memory_order_acquire);
    round = rounds_.load(std::memory_order_acquire);
    while (!stopping_ && is_armed()) {
      if (futex(word_, FUTEX_WAIT, 1) == 0) { // by somebody else
        std::atomic_ref(word_).store(0, std::memory_order_release);
        eventfd_write(woken_.get(), 1);
      }
    }
  }
}

void Doorbell::stop() {
  stopping_ = true;
  disarm();
  rounds_.fetch_add(1, std::memory_order_release);
  rounds_.notify_one();
  if (thread_.joinable()) {
    thread_.join();
  }
}

} // namespace ses::agent
