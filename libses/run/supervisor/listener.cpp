#include "listener.h"

#include <fcntl.h>
#include <sys/ioctl.h>

#include <cerrno>

#ifndef SECCOMP_IOCTL_NOTIF_SET_FLAGS /* kernel 6.6 */
#define SECCOMP_IOCTL_NOTIF_SET_FLAGS SECCOMP_IOW(4, __u64)
#endif

namespace ses::run {
namespace {
constexpr uint64_t kSyncWakeUp = 1;
} // namespace

bool Listener::receive(seccomp_notif *notification) const {
  return ioctl(fd_, SECCOMP_IOCTL_NOTIF_RECV, notification) == 0;
}

bool Listener::waits(uint64_t id) const {
  return ioctl(fd_, SECCOMP_IOCTL_NOTIF_ID_VALID, &id) == 0;
}

void Listener::let_go_on(uint64_t id) const {
  seccomp_notif_resp answer = {};
  answer.id = id;
  answer.flags = SECCOMP_USER_NOTIF_FLAG_CONTINUE;
  send(answer);
}

void Listener::refuse(uint64_t id, int error) const {
  seccomp_notif_resp answer = {};
  answer.id = id;
  answer.error = -error;
  send(answer);
}

void Listener::answer(uint64_t id, int value) const {
  seccomp_notif_resp answer = {};
  answer.id = id;
  answer.val = value;
  send(answer);
}

void Listener::send(seccomp_notif_resp &answer) const {
  while (ioctl(fd_, SECCOMP_IOCTL_NOTIF_SEND, &answer) != 0 && errno == EINTR) {
  }
}

int Listener::add(uint64_t id, int fd, bool close_on_exec) const {
  seccomp_notif_addfd addition = {};
  addition.id = id;
  addition.srcfd = static_cast<__u32>(fd);
  addition.newfd_flags = close_on_exec ? O_CLOEXEC : 0;
  int number = 0;
  do {
    number = ioctl(fd_, SECCOMP_IOCTL_NOTIF_ADDFD, &addition);
  } while (number < 0 && errno == EINTR);
  return number < 0 ? -errno : number;
}

void Listener::wake_nearby() const { ioctl(fd_, SECCOMP_IOCTL_NOTIF_SET_FLAGS, kSyncWakeUp); }

} // namespace ses::run
