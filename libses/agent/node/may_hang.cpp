#include "node/may_hang.h"

#include <fcntl.h>
#include <spdlog/spdlog.h>
#include <sys/sysmacros.h>
#include <unistd.h>

#include <atomic>
#include <chrono>
#include <condition_variable>
#include <map>
#include <mutex>
#include <string>
#include <string_view>
#include <system_error>
#include <thread>

#include "node/unique_fd.h"

namespace ses::agent {
namespace {

using Clock = std::chrono::steady_clock;

constexpr std::chrono::milliseconds kCheckEvery{50}; // whether it waits
constexpr size_t kMaxLost = 512;                     // threads

struct Worker {
  std::mutex mutex;
  std::condition_variable change;
  std::function<void()> call; // none: it has returned
  bool is_over = false;
  std::atomic<pid_t> thread{0};

  void work() {
    thread = gettid();
    std::unique_lock lock(mutex);
    for (;;) {
      change.wait(lock, [this] { return call || is_over; });
      if (!call) {
        return;
      }
      lock.unlock();
      call();
      lock.lock();
      call = nullptr;
      change.notify_all();
    }
  }

  [[nodiscard]] bool has_returned() {
    const std::lock_guard lock(mutex);
    return !call;
  }

  // Not on a processor, nor about to be: a machine that is busy makes no call hang.
  [[nodiscard]] bool waits() const {
    const std::string path = "/proc/self/task/" + std::to_string(thread) + "/stat";
    const UniqueFd file(thread == 0 ? -1 : open(path.c_str(), O_RDONLY | O_CLOEXEC));
    char text[64];
    const ssize_t length = file ? read(file.get(), text, sizeof text) : 0;
    const std::string_view stat(text, length > 0 ? static_cast<size_t>(length) : 0);
    const size_t name_end = stat.rfind(") ");
    return name_end != stat.npos && name_end + 2 < stat.size() && stat[name_end + 2] != 'R';
  }
};

// What has not returned, or returned late, by key.
class Lost {
public:
  void add(const std::string &key, std::shared_ptr<Worker> worker, const Patience &patience) {
    const std::lock_guard lock(mutex_);
    calls_.emplace(key, Call{std::move(worker), patience.barred, {}});
    count_ = calls_.size();
  }

  [[nodiscard]] bool bars(const std::string &key) {
    if (count_ == 0) {
      return false;
    }
    const std::lock_guard lock(mutex_);
    const auto now = Clock::now();
    for (auto &[other, call] : calls_) {
      if (call.worker && call.worker->has_returned()) {
        spdlog::info("{} answers again", other);
        call.worker.reset();
        call.until = now + call.barred;
      }
    }
    std::erase_if(calls_,
                  [now](const auto &one) { return !one.second.worker && one.second.until <= now; });
    count_ = calls_.size();
    return calls_.contains(key) || calls_.size() >= kMaxLost;
  }

private:
  struct Call {
    std::shared_ptr<Worker> worker; // null: it has returned
    std::chrono::milliseconds barred;
    Clock::time_point until;
  };
  std::mutex mutex_;
  std::multimap<std::string, Call> calls_;
  std::atomic<size_t> count_{0};
};

Lost &lost() {
  static Lost &of_all = *new Lost; // for ever: lost threads outlive main()
  return of_all;
}

class Caller {
public:
  ~Caller() { let_go(idle_); }

  bool run(const std::string &key, std::function<void()> call, const Patience &patience) {
    if (lost().bars(key) || !has_worker()) {
      return false;
    }
    std::unique_lock lock(idle_->mutex);
    idle_->call = std::move(call);
    idle_->change.notify_all();
    for (auto waited = kCheckEvery * 0; waited < patience.limit;) {
      if (idle_->change.wait_for(lock, kCheckEvery, [this] { return !idle_->call; })) {
        return true;
      }
      waited = idle_->waits() ? waited + kCheckEvery : kCheckEvery * 0;
    }
    lock.unlock();
    spdlog::warn("{} does not answer and is not waited for; what hangs on it is known later", key);
    let_go(idle_);
    lost().add(key, std::move(idle_), patience);
    return false;
  }

private:
  static void let_go(const std::shared_ptr<Worker> &worker) {
    if (worker) {
      const std::lock_guard lock(worker->mutex);
      worker->is_over = true;
      worker->change.notify_all();
    }
  }

  [[nodiscard]] bool has_worker() {
    if (!idle_) {
      const auto worker = std::make_shared<Worker>();
      try {
        std::thread([worker] { worker->work(); }).detach();
      } catch (const std::system_error &) { // no thread to be had: the next time
        return false;
      }
      idle_ = worker;
    }
    return true;
  }

  std::shared_ptr<Worker> idle_;
};

} // namespace

bool run_what_may_hang(const std::string &key, std::function<void()> call,
                       const Patience &patience) {
  thread_local Caller caller;
  return caller.run(key, std::move(call), patience);
}

std::string device_text(dev_t device) {
  return std::to_string(major(device)) + ":" + std::to_string(minor(device));
}

} // namespace ses::agent
