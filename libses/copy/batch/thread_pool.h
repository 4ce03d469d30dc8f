// A thread pool with a bounded queue: submitting a task waits while the queue is full.
#ifndef SES_COPY_THREAD_POOL_H
#define SES_COPY_THREAD_POOL_H

#include <condition_variable>
#include <deque>
#include <functional>
#include <mutex>
#include <thread>
#include <vector>

namespace ses::copy {

class ThreadPool {
public:
  using Task = std::function<void()>; // does not throw

  explicit ThreadPool(unsigned threads);
  ThreadPool(const ThreadPool &) = delete;
  ThreadPool &operator=(const ThreadPool &) = delete;
  ~ThreadPool();

  // Waits while too many tasks are queued.
  void submit(Task task);

  // Puts the task before all others, and does not wait: its file is open already.
  void submit_first(Task task);

  // Waits until every task is done, those that tasks submitted included.
  void wait();

private:
  void run();

  std::mutex mutex_;
  std::condition_variable task_; // one more in line, or over
  std::condition_variable room_; // one less in line
  std::condition_variable done_; // nothing in line and nothing being done
  std::deque<Task> line_;
  unsigned busy_ = 0;
  bool over_ = false;
  std::vector<std::jthread> threads_;
};

} // namespace ses::copy

#endif // SES_COPY_THREAD_POOL_H
