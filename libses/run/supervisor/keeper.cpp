#include "keeper.h"

#include <poll.h>
#include <unistd.h>

#include "partner.h"

namespace ses::run {

bool keep(Board &board) {
  const int own = getpid();
  board.keeper = own;
  while (!is_over()) {
    pollfd watched[] = {{kListener, 0, 0}, {kLifeRead, 0, 0}};
    if (poll(watched, 2, -1) > 0 && (watched[1].revents & POLLHUP) != 0) {
      int expected = own;
      return !is_over() && board.keeper.compare_exchange_strong(expected, 0);
    }
  }
  return false;
}

} // namespace ses::run
