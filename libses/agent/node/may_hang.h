// Calls that may never return: each on a thread that may be lost.
//
// A user's process can be made to hold up whoever looks at it: its memory waits for a page of a
// dead file system, or of one the user runs, and what the kernel locks for an execve() waits for
// that memory.  On kernels where looking at /proc/PID/fd, stat or io takes that lock, those looks
// wait as well.  So does a file system that is asked while its server does not answer.  So no
// thread that serves all users makes such a call itself.
//
// Any thread; each has a thread of its own for its calls, and another one after that was lost.
// What does not answer is known to all of them: it costs each of those that asked at the same
// moment one thread, and no thread a second one before it has answered.
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

namespace ses::agent {

struct Patience {
  std::chrono::milliseconds limit{100};     // of waiting for something; a busy machine is none
  std::chrono::milliseconds barred{30'000}; // not asked again for so long after a late answer
};
// A file system may take long under load: what it is asked is worth waiting for.
constexpr Patience kOfStorage{std::chrono::milliseconds(1000), std::chrono::milliseconds(5000)};

// Runs CALL and waits until it has returned.  False: it has waited for something for as long as
// PATIENCE says, or was not begun, as another one of KEY (what may hang, in words) has not returned
// or returned late, or as 512 have not; or there is no thread to be had.  CALL may then go on for
// ever, and owns all it uses.
[[nodiscard]] bool run_what_may_hang(const std::string &key, std::function<void()> call,
                                     const Patience &patience = {});

// What CALL returns; none: see above.
template <typename Call>
auto what_may_hang(const std::string &key, Call call, const Patience &patience = {}) {
  using Result = std::invoke_result_t<Call>;
  const auto result = std::make_shared<std::optional<Result>>();
  const bool has_returned = run_what_may_hang(
      key, [result, call = std::move(call)] { result->emplace(call()); }, patience);
  return has_returned ? std::move(*result) : std::optional<Result>();
}

// As in /proc/self/mountinfo, "0:45".
[[nodiscard]] std::string device_text(dev_t device);

// What CALL, which asks the file system of DEVICE, returns; none: it does not answer.
template <typename Call> auto ask_storage(dev_t device, Call call) {
  return what_may_hang("the file system of device " + device_text(device), std::move(call),
                       kOfStorage);
}

} // namespace ses::agent

#endif // SES_AGENT_MAY_HANG_H
