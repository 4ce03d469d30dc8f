#include "batch/thread_pool.h"

#include <exception>
#include <utility>

namespace ses::copy {
namespace {

constexpr std::size_t kLine = 10'000; // tasks, about 300 bytes each

} // namespace

ThreadPool::ThreadPool(unsigned threads) {
  threads_.reserve(threads);
  try {
    while (threads_.size() < threads) {
      threads_.emplace_back([this] { run(); });
    }
  } catch (const std::exception &) { // the user's limits let no more be started
    if (threads_.empty()) {
      throw;
    }
  }
}

ThreadPool::~ThreadPool() {
  {
    const std::lock_guard lock(mutex_);
    over_ = true;
  }
  task_.notify_all();
}

void ThreadPool::submit(Task task) {
  {
    std::unique_lock lock(mutex_);
    room_.wait(lock, [this] { return line_.size() < kLine; });
    line_.push_back(std::move(task));
  }
  task_.notify_one();
}

void ThreadPool::submit_first(Task task) {
  {
    const std::lock_guard lock(mutex_);
    line_.push_front(std::move(task));
  }
  task_.notify_one();
}

void ThreadPool::wait() {
  std::unique_lock lock(mutex_);
  done_.wait(lock, [this] { return line_.empty() && busy_ == 0; });
}

void ThreadPool::run() {
  std::unique_lock lock(mutex_);
  for (;;) {
    task_.wait(lock, [this] { return over_ || !line_.empty(); });
    if (line_.empty()) {
      return;
    }
    const Task task = std::move(line_.front());
    line_.pop_front();
    ++busy_;
    lock.unlock();
    room_.notify_one();
    task();
    lock.lock();
    if (--busy_ == 0 && line_.empty()) {
      done_.notify_all();
    }
  }
}

} // namespace ses::copy
