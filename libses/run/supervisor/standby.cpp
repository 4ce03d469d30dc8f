#include "standby.h"

#include <poll.h>
#include <unistd.h>

#include "life_pipe.h"
#include "peer_process.h"

namespace ses::run {

bool stand_by(SharedCalls &calls) {
  calls.standby = getpid();
  while (!is_over()) {
    pollfd watched[] = {{kListener, 0, 0}, {kLifeRead, 0, 0}};
    if (poll(watched, 2, -1) > 0 && (watched[1].revents & POLLHUP) != 0) {
      return !is_over() && is_first_to_take_over(calls);
    }
  }
  return false;
}

} // namespace ses::run
