#include "node/repeating_thread.h"

namespace ses::agent {

void RepeatingThread::start() {
  thread_ = std::thread([this] { repeat(); });
}

void RepeatingThread::wake() {
  {
    const std::lock_guard lock(mutex_);
    is_woken_ = true;
  }
  change_.notify_one();
}

void RepeatingThread::stop() {
  {
    const std::lock_guard lock(mutex_);
    is_over_ = true;
  }
  change_.notify_one();
  if (thread_.joinable()) {
    thread_.join();
  }
}

void RepeatingThread::repeat() {
  std::unique_lock lock(mutex_);
  while (!is_over_) {
    is_woken_ = false;
    lock.unlock();
    const auto pause = work_();
    lock.lock();
    const auto is_due = [this] { return is_over_ || is_woken_; };
    if (pause == kUntilWoken) {
      change_.wait(lock, is_due);
    } else {
      change_.wait_for(lock, pause, is_due);
    }
  }
}

} // namespace ses::agent
