#include "handover.h"

#include <sys/socket.h>

#include <cerrno>
#include <cstring>

namespace ses::run {
namespace {

struct Message {
  char byte = 0;
  iovec text = {&byte, 1};
  alignas(cmsghdr) char control[CMSG_SPACE(sizeof(int))] = {};
  msghdr header = {};

  explicit Message(bool with_descriptor) {
    header.msg_iov = &text;
    header.msg_iovlen = 1;
    if (with_descriptor) {
      header.msg_control = control;
      header.msg_controllen = sizeof control;
    }
  }
};

bool sent(int control, const Message &message) {
  ssize_t done = 0;
  do {
    done = sendmsg(control, &message.header, MSG_NOSIGNAL);
  } while (done < 0 && errno == EINTR);
  return done == 1;
}

bool received(int control, Message &message) {
  ssize_t done = 0;
  do {
    done = recvmsg(control, &message.header, MSG_CMSG_CLOEXEC);
  } while (done < 0 && errno == EINTR);
  return done == 1;
}

} // namespace

bool notify(int control) { return sent(control, Message(false)); }

bool await(int control) {
  Message message(false);
  return received(control, message);
}

bool hand_over(int control, int listener) {
  Message message(true);
  cmsghdr *part = CMSG_FIRSTHDR(&message.header);
  part->cmsg_level = SOL_SOCKET;
  part->cmsg_type = SCM_RIGHTS;
  part->cmsg_len = CMSG_LEN(sizeof listener);
  std::memcpy(CMSG_DATA(part), &listener, sizeof listener);
  return sent(control, message);
}

int take_over(int control) {
  Message message(true);
  if (!received(control, message)) {
    return -1;
  }
  const cmsghdr *part = CMSG_FIRSTHDR(&message.header);
  if (part == nullptr || part->cmsg_type != SCM_RIGHTS || part->cmsg_len != CMSG_LEN(sizeof(int))) {
    return -1;
  }
  int listener = -1;
  std::memcpy(&listener, CMSG_DATA(part), sizeof listener);
  return listener;
}

} // namespace ses::run
