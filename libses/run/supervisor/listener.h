// The kernel's side: calls that wait for an answer, and the answers.
#ifndef SES_RUN_SUPERVISOR_LISTENER_H
#define SES_RUN_SUPERVISOR_LISTENER_H

#include <linux/seccomp.h>

#include <cstdint>

namespace ses::run {

class Listener {
public:
  explicit Listener(int fd) : fd_(fd) {}

  [[nodiscard]] int get() const { return fd_; }
  // The next call into NOTIFICATION, which must be all zero; waits.  False: interrupted, or nobody
  // is left to call.
  bool receive(seccomp_notif *notification) const;
  // Does the call still wait, so that what was read of its process is that process's?
  [[nodiscard]] bool waits(uint64_t id) const;
  // The call goes on as if nobody listened.  Of no effect when it was answered, or died.
  void let_go_on(uint64_t id) const;
  // Puts a descriptor of what FD is of into the caller's process: its number there, or -errno.  Not
  // in one step with the answer (SECCOMP_ADDFD_FLAG_SEND): when that step is interrupted, by a kill
  // or a stop of this process, the kernel answers 0 and puts nothing there.
  [[nodiscard]] int add(uint64_t id, int fd, bool close_on_exec) const;
  // The call fails with ERROR.
  void refuse(uint64_t id, int error) const;
  // The call returns VALUE.
  void answer(uint64_t id, int value) const;
  // Where the kernel can: wake a listener on the caller's processor.
  void wake_nearby() const;

private:
  void send(seccomp_notif_resp &answer) const;

  const int fd_;
};

} // namespace ses::run

#endif // SES_RUN_SUPERVISOR_LISTENER_H
