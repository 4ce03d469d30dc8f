#include "keeper.h"

#include <poll.h>
#include <unistd.h>

#include "partner.h"

namespace ses::run {

bool keep(SharedCalls &calls) {
  const int own = getpid();
  calls.keeper = own;
  while (!is_over()) {
    pollfd watched[] = {{kListener, 0, 0}, {kLifeRead, 0, 0}};
    if (poll(watched, 2, -1) > 0 && (watched[1].revents & POLLHUP) != 0) {
      int expected = own;
      return !is_over() && calls.keeper.compare_exchange_strong(expected, 0);
    }
  }
  return false;
}

} // namespace ses::run
