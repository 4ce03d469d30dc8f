// Calls that may never return: each on a thread that may be lost.
//
// A user's process can be made to hold up whoever looks at it: its memory waits for a page of a
// dead file system, or of one the user runs, and what the kernel locks for an execve() waits for
// that memory.  On kernels where looking at /proc/PID/fd, stat or io takes that lock, those looks
// wait as well.  So no thread that serves all users makes such a call itself.
//
// Any thread; each has a thread of its own for its calls, and another one after that was lost.
#ifndef SES_AGENT_MAY_HANG_H
#define SES_AGENT_MAY_HANG_H

#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <type_traits>
#include <utility>

namespace ses::agent {

// Runs CALL and waits until it has returned.  False: it has waited for something for 100 ms, or was
// not begun, as another one of KEY (what may hang, in words) has not returned, or returned late
// less than 30 s ago; or there is no thread to be had.  CALL may then go on for ever, and owns all
// it uses.
[[nodiscard]] bool run_what_may_hang(const std::string &key, std::function<void()> call);

// What CALL returns; none: see above.
template <typename Call> auto what_may_hang(const std::string &key, Call call) {
  using Result = std::invoke_result_t<Call>;
  const auto result = std::make_shared<std::optional<Result>>();
  const bool has_returned =
      run_what_may_hang(key, [result, call = std::move(call)] { result->emplace(call()); });
  return has_returned ? std::move(*result) : std::optional<Result>();
}

} // namespace ses::agent

#endif // SES_AGENT_MAY_HANG_H
