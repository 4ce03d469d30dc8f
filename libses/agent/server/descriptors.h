// Descriptors that programs send along with their messages.
//
// A program may send anything.  The last close of a descriptor can wait: of a connection that
// lingers, for as long as its owner stated; of a file, for a file system the sender runs.  So all
// that could wait is closed where nobody waits for it, also what lies in messages that were never
// read, which the kernel closes together with their connection.  The close of an O_PATH descriptor
// cannot wait: only such a one is ever kept.
//
// Does NOT look at what file a descriptor is of; that is for the one who knows what to expect.
#ifndef SES_AGENT_DESCRIPTORS_H
#define SES_AGENT_DESCRIPTORS_H

#include <sys/types.h>

#include <cstddef>
#include <memory>
#include <span>
#include <vector>

#include "node/unique_fd.h"

namespace ses::agent {

// Closes descriptors without making anybody wait.  Used by one thread.
class DescriptorBin {
public:
  DescriptorBin();
  // What has not been closed by now is left to the end of the process.
  ~DescriptorBin();

  void discard(UniqueFd fd);
  // Ends CONNECTION.
  void hang_up(UniqueFd connection);
  // Closes what discard() and hang_up() have left to it; to be called soon after them.
  void empty();
  // Too many files wait to be closed: no more should be taken.
  [[nodiscard]] bool full() const;

private:
  struct Heap;
  const std::shared_ptr<Heap> heap_; // the thread's as well: it may outlive the bin
  bool has_thread_ = false;
  std::vector<UniqueFd> sockets_; // their last close may wait, but not that of a task that ends
};

// As recv() with MSG_DONTWAIT.  HANDLE becomes the descriptor that came along if it is the only one
// and O_PATH; everything else goes to BIN.  0 also for a message with descriptors while BIN is
// full.
[[nodiscard]] ssize_t receive(int socket, std::span<std::byte> buffer, UniqueFd &handle,
                              DescriptorBin &bin);

} // namespace ses::agent

#endif // SES_AGENT_DESCRIPTORS_H
