#include "supervision.h"

#include <fcntl.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <system_error>

#include "seccomp/notify_filter.h"
#include "supervisor/handover.h"
#include "system/descriptor.h"

namespace ses::run {
namespace {

namespace fs = std::filesystem;

fs::path find_supervisor() {
  std::error_code ignored;
  const fs::path here = fs::read_symlink("/proc/self/exe", ignored).parent_path();
  return here.filename() == SES_BIN_DIRECTORY
             ? here.parent_path() / SES_LIBEXEC_DIRECTORY / "ses-supervisor"
             : here / "ses-supervisor";
}

// The supervisor has neither the program's descriptors, so that a reader of its output sees the
// end, nor its libraries, nor its terminal.
// In RESERVE it becomes one only when ses-run asks; until then it is a copy of ses-run that waits.
[[noreturn]] void become_supervisor(const fs::path &program, int control, bool reserve) {
  // Of a process without standard input or output, CONTROL is one of the numbers given anew here.
  const int apart = fcntl(control, F_DUPFD, kControl + 1);
  const int null = open("/dev/null", O_RDWR);
  for (int fd = 0; fd < kControl; ++fd) {
    dup2(null, fd);
  }
  if (dup2(apart, kControl) != kControl) {
    _exit(1);
  }
  close_range(kControl + 1, ~0U, 0);
  if (reserve && !await(kControl)) {
    _exit(0);
  }
  unsetenv("LD_PRELOAD");
  setenv("SES_SYNC_MS", "2", 0);
  sigset_t none;
  sigemptyset(&none);
  sigprocmask(SIG_SETMASK, &none, nullptr);
  execl(program.c_str(), "ses-supervisor", "start", nullptr);
  _exit(1);
}

// A supervisor and one in reserve, as no children of this process: the program may wait for all it
// has.  Both before the filter: what starts later is under it.
bool start(const fs::path &program, int control, int reserve_control) {
  int adopts = 0;
  prctl(PR_GET_CHILD_SUBREAPER, &adopts, 0, 0, 0);
  prctl(PR_SET_CHILD_SUBREAPER, 0, 0, 0, 0); // or they came to it as orphans
  const pid_t between = fork();
  if (between == 0) {
    setsid();
    if (fork() == 0) {
      become_supervisor(program, control, false);
    }
    if (fork() == 0) {
      become_supervisor(program, reserve_control, true);
    }
    _exit(0);
  }
  int status = 0;
  while (between > 0 && waitpid(between, &status, 0) < 0 && errno == EINTR) {
  }
  prctl(PR_SET_CHILD_SUBREAPER, adopts, 0, 0, 0);
  return between > 0;
}

struct Ends {
  Descriptor own;
  Descriptor peer;
};

bool connect(Ends &into) {
  int ends[2] = {-1, -1};
  if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, ends) != 0) {
    return false;
  }
  into.own = Descriptor(ends[0]);
  into.peer = Descriptor(ends[1]);
  return true;
}

// Hands the listener over to a supervisor that has reported to be ready.
bool passes(int control, int listener) { return hand_over(control, listener) && await(control); }

} // namespace

Supervised supervise(bool refuses_io_uring, std::string &why) {
  const fs::path program = find_supervisor();
  if (getpid() == 1) {
    why =
        "orphans come to the first process of a container, so that the supervisor would be a child "
        "of the program, which may wait for all it has: start ses-run below an init (docker run "
        "--init)";
    return Supervised::kNo;
  }
  Ends first;
  Ends reserve;
  if (access(program.c_str(), X_OK) != 0 || !connect(first) || !connect(reserve)) {
    why = program.string() + ": " + std::strerror(errno);
    return Supervised::kNo;
  }
  {
    const Descriptor first_peer = std::move(first.peer);
    const Descriptor reserve_peer = std::move(reserve.peer);
    if (!start(program, first_peer.get(), reserve_peer.get())) {
      why = std::string("no process for the supervisor: ") + std::strerror(errno);
      return Supervised::kNo;
    }
  }
  if (!await(first.own.get())) {
    why = program.string() +
          " did not start, or may not read the memory of other processes of this user"
          " (kernel.yama.ptrace_scope is 0 where it may)";
    return Supervised::kNo;
  }
  const Descriptor listener(install_notify_filter(refuses_io_uring));
  if (!listener) {
    why = listener.get() == -EBUSY
              ? "somebody supervises this process already"
              : std::string("the kernel refuses the filter (5.19 is needed): ") +
                    std::strerror(-listener.get());
    return Supervised::kNo;
  }
  if (!passes(first.own.get(), listener.get()) &&
      !(notify(reserve.own.get()) && await(reserve.own.get()) &&
        passes(reserve.own.get(), listener.get()))) {
    why = "the supervisor was killed while it started, and the one in reserve too";
    return Supervised::kDead;
  }
  return Supervised::kYes;
}

} // namespace ses::run
