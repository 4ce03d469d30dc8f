#include "keeper.h"

#include <poll.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "partner.h"

namespace ses::run {
namespace {

constexpr int kLooks = 100;
constexpr int kLookMs = 10;

bool has_ended(int process) {
  const Descriptor other(static_cast<int>(syscall(SYS_pidfd_open, process, 0)));
  pollfd ended = {other.get(), POLLIN, 0};
  return !other || poll(&ended, 1, kLookMs) > 0;
}

// Of several keepers the one that came last takes over, or another when that one has died, or does
// not come to it for a second.  A guardian that is killed as it starts a keeper leaves one to
// spare.
bool takes_over(SharedCalls &calls, int own) {
  for (int look = 0; look < kLooks && !is_over(); ++look) {
    int last = own;
    if (calls.keeper.compare_exchange_strong(last, 0)) {
      return true;
    }
    if (last == 0) {
      return false; // another one has
    }
    if (has_ended(last)) {
      calls.keeper.compare_exchange_strong(last, own);
    }
  }
  return !is_over();
}

} // namespace

bool keep(SharedCalls &calls) {
  const int own = getpid();
  calls.keeper = own;
  while (!is_over()) {
    pollfd watched[] = {{kListener, 0, 0}, {kLifeRead, 0, 0}};
    if (poll(watched, 2, -1) > 0 && (watched[1].revents & POLLHUP) != 0) {
      return takes_over(calls, own);
    }
  }
  return false;
}

} // namespace ses::run
