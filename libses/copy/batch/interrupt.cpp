#include "batch/interrupt.h"

#include <unistd.h>

#include <csignal>

namespace ses::copy {

std::atomic<bool> stop_asked{false};

namespace {

std::atomic<int> signal_seen{0};

void ask_to_stop(int signal) {
  if (signal_seen.exchange(signal) != 0) {
    _exit(128 + signal);
  }
  stop_asked = true;
}

} // namespace

void listen_for_signals() {
  struct sigaction action {};
  action.sa_handler = ask_to_stop;
  for (const int signal : {SIGINT, SIGTERM, SIGHUP}) {
    struct sigaction before {};
    if (sigaction(signal, nullptr, &before) == 0 && before.sa_handler != SIG_IGN) { // by nohup
      sigaction(signal, &action, nullptr);
    }
  }
  // Sent to the holder of a lease that another process waits for; the lease itself is looked at.
  std::signal(SIGIO, SIG_IGN);
}

int stop_signal() { return signal_seen; }

} // namespace ses::copy
