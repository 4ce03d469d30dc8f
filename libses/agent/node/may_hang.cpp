#include "node/may_hang.h"

#include <fcntl.h>
#include <spdlog/spdlog.h>
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
constexpr unsigned kMostChecks = 2;                  // at which it did
constexpr std::chrono::seconds kBarredFor{30};
constexpr size_t kMostLost = 256; // threads, of each caller

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

class Caller {
public:
  ~Caller() { let_go(idle_); }

  bool run(const std::string &key, std::function<void()> call) {
    if (is_barred(key) || !has_worker()) {
      return false;
    }
    std::unique_lock lock(idle_->mutex);
    idle_->call = std::move(call);
    idle_->change.notify_all();
    for (unsigned checks = 0; checks < kMostChecks;) {
      if (idle_->change.wait_for(lock, kCheckEvery, [this] { return !idle_->call; })) {
        return true;
      }
      checks = idle_->waits() ? checks + 1 : 0;
    }
    lock.unlock();
    spdlog::warn("{} does not answer and is not waited for; what hangs on it is known later", key);
    let_go(idle_);
    lost_[key].worker = std::move(idle_);
    return false;
  }

private:
  struct Lost {
    std::shared_ptr<Worker> worker; // null: it has returned
    Clock::time_point until{};
  };

  static void let_go(const std::shared_ptr<Worker> &worker) {
    if (worker) {
      const std::lock_guard lock(worker->mutex);
      worker->is_over = true;
      worker->change.notify_all();
    }
  }

  [[nodiscard]] bool is_barred(const std::string &key) {
    if (lost_.empty()) {
      return false;
    }
    const auto now = Clock::now();
    for (auto &[other, lost] : lost_) {
      if (lost.worker && lost.worker->has_returned()) {
        lost = {nullptr, now + kBarredFor};
      }
    }
    std::erase_if(lost_,
                  [now](const auto &one) { return !one.second.worker && one.second.until <= now; });
    return lost_.contains(key) || lost_.size() >= kMostLost;
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
  std::map<std::string, Lost> lost_;
};

} // namespace

bool run_what_may_hang(const std::string &key, std::function<void()> call) {
  thread_local Caller caller;
  return caller.run(key, std::move(call));
}

} // namespace ses::agent
