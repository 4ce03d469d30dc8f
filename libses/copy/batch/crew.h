// Threads that do what they are given, in order, and take no more on than a bound.
#ifndef SES_COPY_CREW_H
#define SES_COPY_CREW_H

#include <condition_variable>
#include <deque>
#include <functional>
#include <mutex>
#include <thread>
#include <vector>

namespace ses::copy {

class Crew {
public:
  using Task = std::function<void()>; // does not throw

  explicit Crew(unsigned threads);
  Crew(const Crew &) = delete;
  Crew &operator=(const Crew &) = delete;
  ~Crew();

  // Waits while too many tasks are in line.
  void give(Task task);

  // To be done next: of a file that is open already, and so waits for nothing.
  void give_first(Task task);

  // Waits until every task is done, those that tasks gave included.
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

#endif // SES_COPY_CREW_H
