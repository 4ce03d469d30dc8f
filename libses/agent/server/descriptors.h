// Descriptors that programs send along with their messages.
//
// A program may send anything.  A close can wait, for a connection that lingers or for a file
// system the sender runs itself; so all that could is left to a thread nobody waits for.  An O_PATH
// descriptor cannot: only such a one is ever kept.
//
// Does NOT look at what file a descriptor is of; that is for the one who knows what to expect.
#ifndef SES_AGENT_DESCRIPTORS_H
#define SES_AGENT_DESCRIPTORS_H

#include <sys/types.h>

#include <cstddef>
#include <memory>
#include <span>

#include "node/unique_fd.h"

namespace ses::agent {

// Closes descriptors without making anybody wait.  Used by one thread.
class DescriptorBin {
public:
  DescriptorBin();
  // What has not been closed by now is left to the end of the process.
  ~DescriptorBin();

  void discard(UniqueFd fd);
  // So many wait to be closed that no more should be taken; then reports count as sent without.
  [[nodiscard]] bool full() const;

private:
  struct Heap;
  const std::shared_ptr<Heap> heap_; // the thread's as well: it may outlive the bin
  bool has_thread_ = false;
};

// As recv() with MSG_DONTWAIT.  HANDLE becomes the descriptor that came along if it is the only one
// and O_PATH; everything else goes to BIN.
[[nodiscard]] ssize_t receive(int socket, std::span<std::byte> buffer, UniqueFd &handle,
                              DescriptorBin &bin);

} // namespace ses::agent

#endif // SES_AGENT_DESCRIPTORS_H
