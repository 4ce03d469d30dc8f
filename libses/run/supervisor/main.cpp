// ses-supervisor: creates files for the processes of one ses-run --supervise, where the agent says.
//
// Three processes, started by ses-run and by each other; not for use by hand.  All end when the
// last process under the filter has ended.  Holds no descriptor, directory or terminal of the
// program.
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <sys/socket.h>
#include <sys/uio.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <cstring>
#include <string_view>

#include "handover.h"
#include "life_pipe.h"
#include "peer_process.h"
#include "shared_calls.h"
#include "standby.h"
#include "watchdog.h"
#include "worker.h"

namespace ses::run {
namespace {

constexpr int kMisuse = 125;

constexpr const char *kHelp =
    R"(Usage: ses-supervisor ROLE

Create files for the processes of a program that ses-run --supervise runs.

Not for use by hand: ses-run starts it, and it starts further processes of its
own. All of them end when the last process of the program has ended. It never
runs the program, and holds none of its descriptors, directories or terminals.

A worker creates the files where the agent says. A watchdog lets calls go on
that the worker does not answer. A standby takes the place of both if they are
killed together. To end all of them, end the program.

Options:
  --help      Print this
  --version   Print the version

Exit status: 0 when the last process of the program has ended; 1 when the kernel
does not let it supervise; 125 when it is used wrongly.
)";

int print(const char *text) {
  return std::fputs(text, stdout) >= 0 && std::fflush(stdout) == 0 ? 0 : kMisuse;
}

void do_nothing(int) {}

// What ends the program's processes must not end these before them.
void set_signals() {
  for (const int number : {SIGHUP, SIGINT, SIGQUIT, SIGTERM, SIGPIPE, SIGCHLD, SIGUSR1, SIGUSR2}) {
    signal(number, SIG_IGN);
  }
  struct sigaction action = {};
  action.sa_handler = do_nothing; // and no SA_RESTART: it is to interrupt
  sigaction(SIGALRM, &action, nullptr);
}

bool move_to(int fd, int wanted) {
  return fd >= 0 && (fd == wanted || dup3(fd, wanted, O_CLOEXEC) == wanted);
}

// Will the kernel let this process look at the memory of those under the filter?  Asked of the one
// at the other end, about an address that is none: yama's ptrace_scope, for one, may forbid it to
// all but root, and then each call would be held up for nothing.
bool may_look(int control) {
  ucred peer = {};
  socklen_t size = sizeof peer;
  if (getsockopt(control, SOL_SOCKET, SO_PEERCRED, &peer, &size) != 0) {
    return false;
  }
  char byte = 0;
  const iovec here = {&byte, 1};
  const iovec there = {reinterpret_cast<void *>(1), 1};
  return process_vm_readv(peer.pid, &here, 1, &there, 1, 0) >= 0 || errno == EFAULT;
}

// The first watchdog: it gets the listener, starts the worker, and reports both.
int start() {
  const Descriptor control(fcntl(kControl, F_DUPFD_CLOEXEC, kLifeWrite + 1));
  close(kControl);
  if (!may_look(control.get()) || !move_to(make_shared_calls(), kSharedCalls)) {
    return 1;
  }
  SharedCalls *calls = map_shared_calls(kSharedCalls);
  if (calls == nullptr || !make_life_pipe(*calls) || !notify(control.get()) ||
      !move_to(take_over(control.get()), kListener)) {
    return 1;
  }
  Descriptor worker = start_peer("worker");
  notify(control.get());
  return watch(*calls, worker.release());
}

// The standby becomes the watchdog, under the name of one.
int succeed(SharedCalls &calls) {
  calls.standby = 0;
  while (!make_life_pipe(calls)) { // without one no standby would watch the watchdog
    if (is_over()) {
      return 0;
    }
    poll(nullptr, 0, kRetryMs);
  }
  for (const int fd : {kListener, kSharedCalls, kLifeRead, kLifeWrite}) {
    fcntl(fd, F_SETFD, 0);
  }
  execl("/proc/self/exe", "ses-supervisor", "successor", nullptr);
  return watch(calls, -1);
}

int go_on(std::string_view role) {
  SharedCalls *calls = map_shared_calls(kSharedCalls);
  if (calls == nullptr) {
    return 1;
  }
  for (const int fd : {kListener, kSharedCalls, kStarter, kLifeRead, kLifeWrite}) {
    fcntl(fd, F_SETFD, FD_CLOEXEC);
  }
  if (role == "standby") {
    return stand_by(*calls) ? succeed(*calls) : 0;
  }
  return role == "worker"     ? work(*calls, kStarter)
         : role == "watchdog" ? watch(*calls, kStarter)
                              : watch(*calls, -1);
}

bool is_role(std::string_view role) {
  return role == "worker" || role == "watchdog" || role == "standby" || role == "successor";
}

} // namespace
} // namespace ses::run

int main(int argc, char **argv) {
  const std::string_view role = argc == 2 ? argv[1] : "";
  if (role == "--help") {
    return ses::run::print(ses::run::kHelp);
  }
  if (role == "--version") {
    return ses::run::print("ses-supervisor " SES_RUN_VERSION "\n");
  }
  if (role != "start" && !ses::run::is_role(role)) {
    std::fputs("ses-supervisor: it is started by ses-run --supervise.\n"
               "Try 'ses-supervisor --help'.\n",
               stderr);
    return ses::run::kMisuse;
  }
  ses::run::set_signals();
  if (chdir("/") != 0) {
    return 1;
  }
  return role == "start" ? ses::run::start() : ses::run::go_on(role);
}
