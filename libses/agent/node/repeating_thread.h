// A thread that does the same work again and again: after a while, or when it is woken.
#ifndef SES_AGENT_REPEATING_THREAD_H
#define SES_AGENT_REPEATING_THREAD_H

#include <chrono>
#include <condition_variable>
#include <functional>
#include <mutex>
#include <thread>
#include <utility>

namespace ses::agent {

// Any thread may wake it; the other calls are for one thread.
class RepeatingThread {
public:
  static constexpr std::chrono::nanoseconds kUntilWoken{-1};
  // Does the work; returns how long to wait before the next time.
  using Work = std::function<std::chrono::nanoseconds()>;

  // What WORK uses must be older than this, or outlive stop().
  explicit RepeatingThread(Work work) : work_(std::move(work)) {}
  ~RepeatingThread() { stop(); }

  void start();
  // Again soon; once more when it is at work.
  void wake();
  // Returns when the work that was begun is done.
  void stop();

private:
  void repeat();

  const Work work_;
  std::mutex mutex_;
  std::condition_variable change_;
  bool is_woken_ = false, is_over_ = false;
  std::thread thread_;
};

} // namespace ses::agent

#endif // SES_AGENT_REPEATING_THREAD_H
