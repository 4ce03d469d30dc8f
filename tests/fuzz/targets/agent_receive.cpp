// Messages of programs to the agent's socket, with descriptors along with them: several wait at
// once, of any length, with any number of descriptors of any kind.  Each message is three bytes:
// its length, how many descriptors, of which kind the first is; or 0xff: the other side hangs up.
#include <fcntl.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <cstring>
#include <vector>

#include "must.h"
#include "protocol/wire.h"
#include "server/descriptors.h"

using namespace ses::agent;

namespace {

constexpr size_t kLargest = std::max(sizeof(ses_ask), sizeof(ses_report));

int lowest_free() {
  const int fd = open("/dev/null", O_RDONLY | O_CLOEXEC);
  MUST(fd >= 0);
  close(fd);
  return fd;
}

void put(int socket, const uint8_t *what, const std::vector<int> &kinds) {
  static std::byte text[kLargest + 64];
  alignas(cmsghdr) char control[CMSG_SPACE(253 * sizeof(int))] = {};
  iovec part{text, what[0] * size_t{8} % sizeof text};
  msghdr message{};
  message.msg_iov = &part;
  message.msg_iovlen = 1;
  const size_t count = what[1] % 254;
  if (count > 0) {
    message.msg_control = control;
    message.msg_controllen = CMSG_SPACE(count * sizeof(int));
    cmsghdr *head = CMSG_FIRSTHDR(&message);
    head->cmsg_level = SOL_SOCKET;
    head->cmsg_type = SCM_RIGHTS;
    head->cmsg_len = CMSG_LEN(count * sizeof(int));
    for (size_t i = 0; i < count; ++i) {
      const int fd = kinds[(what[2] + i) % kinds.size()];
      std::memcpy(CMSG_DATA(head) + i * sizeof fd, &fd, sizeof fd);
    }
  }
  (void)sendmsg(socket, &message, MSG_DONTWAIT | MSG_NOSIGNAL);
}

// All that waits; what a report may bring is a path, and nothing else stays.
void take(int socket, DescriptorBin &bin) {
  std::byte buffer[kLargest + 1];
  for (;;) {
    UniqueFd handle;
    const ssize_t length = receive(socket, buffer, handle, bin);
    if (length <= 0) {
      return;
    }
    MUST(static_cast<size_t>(length) <= sizeof buffer);
    MUST(!handle || (fcntl(handle.get(), F_GETFL) & O_PATH) != 0);
    (void)parse_report(std::span(buffer).first(static_cast<size_t>(length)));
  }
}

} // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
  const int free_before = lowest_free();
  {
    DescriptorBin bin;
    int pair[2];
    MUST(socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, pair) == 0);
    UniqueFd program(pair[0]), agent(pair[1]);
    const UniqueFd path(open("/", O_PATH | O_CLOEXEC));
    const std::vector<int> kinds{path.get(), agent.get(), program.get()};
    for (; size >= 3; data += 3, size -= 3) {
      if (data[0] == 0xff) {
        program.reset();
        break;
      }
      put(program.get(), data, kinds);
      if ((data[2] & 0x80) != 0) {
        take(agent.get(), bin);
      }
    }
    take(agent.get(), bin);
    bin.hang_up(std::move(agent));
    bin.empty();
  }
  MUST(lowest_free() == free_before); // nothing that was sent is open any more
  return 0;
}
