// Calls that may never return: each on a thread that may be lost.
//
// A user's process can be made to hold up any thread that looks at it: its memory waits for a page
// of a dead file system, or of one the user runs, and what the kernel locks for an execve() waits
// for that memory.  On kernels where looking at /proc/PID/fd, stat or io takes that lock, those
// looks wait as well.  So does a file system that is asked while its server does not answer.  So no
// thread that serves all users makes such a call itself.
//
// Any thread; each has a thread of its own for its calls, and another one after that was lost.
// What does not answer is known to all of them: it costs each thread that asked at the same time
// one thread, and none a second one before it has answered.
#ifndef SES_AGENT_MAY_HANG_H
#define SES_AGENT_MAY_HANG_H

#include <sys/types.h>

#include <chrono>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <type_traits>
#include <utility>
#include <vector>

namespace ses::agent {

struct Timeouts {
  std::chrono::milliseconds limit{100};     // of waiting for something; a busy machine is none
  std::chrono::milliseconds barred{30'000}; // not asked again for so long after a late answer
};
// A file system may take long under load: what it is asked is worth waiting for.
constexpr Timeouts kOfStorage{std::chrono::milliseconds(1000), std::chrono::milliseconds(5000)};

// What a call asks.
struct Subject {
  std::string what;               // in words; it is asked once at a time
  std::optional<uid_t> user = {}; // who can make it hang
};

struct MayHang {
  Subject subject;
  std::function<void()> call; // owns all it uses, and may go on for ever
};

// Runs CALLS side by side and waits until each has returned.  False for one that has waited for
// something for as long as TIMEOUTS says, or was not begun, as another one of its subject has not
// returned or returned late, or 8 (of root 64) of its user's; of its user's one, where 512 have not
// in all; or there is no thread to be had.
[[nodiscard]] std::vector<bool> run_what_may_hang(std::vector<MayHang> calls,
                                                  const Timeouts &timeouts = {});

// What each of CALLS returns, in their order; none: see above.
template <typename Call>
auto all_that_may_hang(std::vector<std::pair<Subject, Call>> calls, const Timeouts &timeouts = {}) {
  using Result = std::optional<std::invoke_result_t<Call>>;
  std::vector<std::shared_ptr<Result>> results;
  std::vector<MayHang> begun;
  for (auto &[subject, call] : calls) {
    results.push_back(std::make_shared<Result>());
    begun.push_back({std::move(subject), [result = results.back(), call = std::move(call)] {
                       result->emplace(call());
                     }});
  }
  const std::vector<bool> has_returned = run_what_may_hang(std::move(begun), timeouts);
  std::vector<Result> returned;
  for (size_t at = 0; at < results.size(); ++at) {
    returned.push_back(has_returned[at] ? std::move(*results[at]) : Result());
  }
  return returned;
}

template <typename Call>
auto what_may_hang(Subject subject, Call call, const Timeouts &timeouts = {}) {
  std::vector<std::pair<Subject, Call>> calls;
  calls.emplace_back(std::move(subject), std::move(call));
  return std::move(all_that_may_hang(std::move(calls), timeouts).front());
}

// As in /proc/self/mountinfo, "0:45".
[[nodiscard]] std::string device_text(dev_t device);

[[nodiscard]] inline Subject storage_of(dev_t device) {
  return {"the file system of device " + device_text(device)};
}

// What CALL, which asks the file system of DEVICE, returns; none: it does not answer.
template <typename Call> auto ask_storage(dev_t device, Call call) {
  return what_may_hang(storage_of(device), std::move(call), kOfStorage);
}

} // namespace ses::agent

#endif // SES_AGENT_MAY_HANG_H
