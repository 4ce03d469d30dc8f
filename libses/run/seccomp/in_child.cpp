#include "in_child.h"

#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>

namespace ses::run {

bool holds_in_child(bool (*question)()) {
  // Of a child of who ignores SIGCHLD, as daemons do and those they start, nobody learns how it
  // ended.
  struct sigaction usual = {};
  struct sigaction before = {};
  usual.sa_handler = SIG_DFL;
  sigaction(SIGCHLD, &usual, &before);
  const pid_t child = fork();
  if (child == 0) {
    _exit(question() ? 0 : 1);
  }
  int status = 1;
  while (child > 0 && waitpid(child, &status, 0) < 0 && errno == EINTR) {
  }
  sigaction(SIGCHLD, &before, nullptr);
  return status == 0;
}

} // namespace ses::run
