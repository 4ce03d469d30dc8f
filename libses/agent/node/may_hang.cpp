#include "node/may_hang.h"

#include <fcntl.h>
#include <spdlog/spdlog.h>
#include <sys/sysmacros.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <condition_variable>
#include <mutex>
#include <string>
#include <string_view>
#include <system_error>
#include <thread>

#include "node/unique_fd.h"

namespace ses::agent {
namespace {

using Clock = std::chrono::steady_clock;

constexpr std::chrono::milliseconds kCheckEvery{50};         // whether it waits
constexpr size_t kMaxLost = 512, kOfOne = 8, kOfSystem = 64; // threads

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
      lock.unlock(); // before the other thread is woken, which would wait for it
      change.notify_all();
      lock.lock();
    }
  }

  [[nodiscard]] bool has_returned(std::chrono::milliseconds within = {}) {
    std::unique_lock lock(mutex);
    return change.wait_for(lock, within, [this] { return !call; });
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

// What has not returned, or returned late.
class Lost {
public:
  void add(const Subject &subject, std::shared_ptr<Worker> worker, const Timeouts &timeouts) {
    const std::lock_guard lock(mutex_);
    calls_.push_back({subject, std::move(worker), timeouts.barred, {}});
    count_ = calls_.size();
  }

  [[nodiscard]] bool bars(const Subject &subject) {
    if (count_ == 0) {
      return false;
    }
    const std::lock_guard lock(mutex_);
    const auto now = Clock::now();
    for (Call &call : calls_) {
      if (call.worker && call.worker->has_returned()) {
        spdlog::info("{} answers again", call.subject.what);
        call.worker.reset();
        call.until = now + call.barred;
      }
    }
    std::erase_if(calls_, [now](const Call &call) { return !call.worker && call.until <= now; });
    count_ = calls_.size();
    const auto is_same = [&](const Call &call) { return call.subject.what == subject.what; };
    const auto is_theirs = [&](const Call &call) { return call.subject.user == subject.user; };
    const size_t of_one = calls_.size() >= kMaxLost ? 1 : subject.user == 0 ? kOfSystem : kOfOne;
    return std::ranges::any_of(calls_, is_same) ||
           (subject.user &&
            static_cast<size_t>(std::ranges::count_if(calls_, is_theirs)) >= of_one);
  }

private:
  struct Call {
    Subject subject;
    std::shared_ptr<Worker> worker; // null: it has returned
    std::chrono::milliseconds barred;
    Clock::time_point until;
  };
  std::mutex mutex_;
  std::vector<Call> calls_;
  std::atomic<size_t> count_{0};
};

Lost &lost() {
  static Lost &of_all = *new Lost; // for ever: lost threads outlive main()
  return of_all;
}

void let_go(const std::shared_ptr<Worker> &worker) {
  const std::lock_guard lock(worker->mutex);
  worker->is_over = true;
  worker->change.notify_all();
}

// Runs what one thread asks for.
class Caller {
public:
  ~Caller() {
    if (idle_) {
      let_go(idle_);
    }
  }

  std::vector<bool> run(std::vector<MayHang> calls, const Timeouts &timeouts) {
    std::vector<bool> has_returned(calls.size());
    std::vector<Begun> begun;
    for (size_t at = 0; at < calls.size(); ++at) {
      if (auto worker = lost().bars(calls[at].subject) ? nullptr : worker_to_use()) {
        {
          const std::lock_guard lock(worker->mutex);
          worker->call = std::move(calls[at].call);
        }
        worker->change.notify_all();
        begun.push_back({at, worker, {}});
      }
    }
    while (!begun.empty()) {
      const bool some_hang = !begun.back().worker->has_returned(kCheckEvery);
      std::erase_if(begun, [&](Begun &running) {
        if (running.worker->has_returned()) {
          has_returned[running.at] = true;
          put_away(std::move(running.worker));
          return true;
        }
        if (some_hang) {
          running.waited =
              running.worker->waits() ? running.waited + kCheckEvery : std::chrono::milliseconds();
        }
        return running.waited >= timeouts.limit && !running.worker->has_returned() &&
               lose(calls[running.at].subject, std::move(running.worker), timeouts);
      });
    }
    return has_returned;
  }

private:
  struct Begun {
    size_t at;
    std::shared_ptr<Worker> worker;
    std::chrono::milliseconds waited;
  };

  static bool lose(const Subject &subject, std::shared_ptr<Worker> worker,
                   const Timeouts &timeouts) {
    spdlog::warn("{} does not answer and is not waited for; what hangs on it is known later",
                 subject.what);
    let_go(worker);
    lost().add(subject, std::move(worker), timeouts);
    return true;
  }

  std::shared_ptr<Worker> worker_to_use() {
    if (idle_) {
      return std::move(idle_);
    }
    auto worker = std::make_shared<Worker>();
    try {
      std::thread([worker] { worker->work(); }).detach();
    } catch (const std::system_error &) { // no thread to be had: the next time
      return nullptr;
    }
    return worker;
  }

  void put_away(std::shared_ptr<Worker> worker) {
    if (idle_) {
      let_go(worker);
    } else {
      idle_ = std::move(worker);
    }
  }

  std::shared_ptr<Worker> idle_;
};

} // namespace

std::vector<bool> run_what_may_hang(std::vector<MayHang> calls, const Timeouts &timeouts) {
  thread_local Caller caller;
  return caller.run(std::move(calls), timeouts);
}

std::string device_text(dev_t device) {
  return std::to_string(major(device)) + ":" + std::to_string(minor(device));
}

} // namespace ses::agent
