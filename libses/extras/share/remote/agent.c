/*
 * ses-share-agent: lets processes of other nodes use the regions of this one, with the rights that
 * their users have here (message.h).
 *
 * A process of its own serves each of them, which becomes their user before it touches a region.
 * This one listens and counts (served.h).  On a core of their own all of them stay there, and those
 * that were asked within the last tenth of a second look for the next request in turn.
 */
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/signalfd.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include "net/tcp.h"
#include "remote/fabric.h"
#include "remote/memory.h"
#include "remote/message.h"
#include "remote/served.h"
#include "remote/session.h"
#include "system/command_line.h"
#include "system/core.h"

#define PROGRAM "ses-share-agent"
#define POLL_NS 100000000ull

struct options {
  const char *listen;
  const char *provider;
  int sessions;
  int memory;
  int core;   /* to stay on and poll; -1: any, and sleep */
  bool sleep; /* on that core, too */
  int fifo;   /* SCHED_FIFO priority, 1 to 99; 0: as started */
};

struct word {
  pid_t process;
  uid_t user;
};

static int words[2]; /* of each serving process: one, when its user is proven */

static const char help[] =
    "Usage: ses-share-agent [OPTIONS]\n"
    "\n"
    "Let processes of other nodes use the shared regions of this one.\n"
    "\n"
    "Each has the rights that its user has here; MUNGE proves who that is. Values\n"
    "travel by libfabric, unencrypted, as those of MPI do.\n"
    "\n"
    "Options:\n"
    "  --listen HOST:PORT  Where to listen. [default: 127.0.0.1:" SES_REMOTE_PORT "]\n"
    "  --provider NAME     Provider of libfabric: tcp, verbs, or shm for trials on\n"
    "                      one node. [default: tcp]\n"
    "  --core N            Answer on this core, and poll there for 0.1 s after each\n"
    "                      request; the site keeps it free\n"
    "  --sleep             With --core: sleep until a request comes\n"
    "  --fifo PRIORITY     Run as SCHED_FIFO, 1 to 99; needs CAP_SYS_NICE\n"
    "  --munge-socket PATH\n"
    "                      Where munged listens. [default: MUNGE's own]\n"
    "  --sessions N        Processes that are served at once, 4 to 4096; of one user,\n"
    "                      a quarter. As many more may have proven nothing yet; then\n"
    "                      the oldest gives way. [default: 256]\n"
    "  --memory MIB        Segments of one user on this node, above which creates\n"
    "                      and puts fail with EDQUOT; and as much again for values\n"
    "                      that the user's sessions hold. [default: 512]\n"
    "  --help              Print this and end\n"
    "  --version           Print the version and end\n"
    "\n"
    "Exit status: 0 ended by SIGTERM or SIGINT, 1 cannot run, 2 wrong usage.\n";

/* -1: go on. */
static int read_options(int argc, char **argv, struct options *options) {
  const char *munge = NULL;
  const struct ses_option known[] = {
      {.name = "listen", .text = &options->listen},
      {.name = "provider", .text = &options->provider},
      {.name = "munge-socket", .text = &munge},
      {.name = "sessions", .number = &options->sessions, .least = 4, .most = SES_SERVED_MAX},
      {.name = "memory", .number = &options->memory, .least = 1, .most = 1 << 30},
      {.name = "core", .number = &options->core, .most = SES_CORE_MAX},
      {.name = "fifo", .number = &options->fifo, .least = 1, .most = 99},
      {.name = "sleep", .flag = &options->sleep},
      {0},
  };
  *options = (struct options){
      .listen = "127.0.0.1", .provider = "tcp", .sessions = 256, .memory = 512, .core = -1};
  int status = ses_command_line(PROGRAM, SES_SHARE_AGENT_VERSION, help, known, argc, argv);
  if (status >= 0)
    return status;
  if (strlen(options->provider) >= SES_FABRIC_PROVIDER)
    return ses_refuse(PROGRAM, "--provider", "is too long");
  if (options->sleep && options->core < 0)
    return ses_refuse(PROGRAM, "--sleep", "needs --core N");
  if (munge)
    setenv("SES_MUNGE_SOCKET", munge, 1);
  return optind < argc ? ses_refuse(PROGRAM, argv[optind], "is unexpected") : -1;
}

/* ---------------------------------------------------------------- in the child */

static void tell_user(uid_t user) {
  struct word word = {getpid(), user};
  if (write(words[1], &word, sizeof word) != sizeof word)
    _exit(1);
  close(words[1]);
}

static void serve(int connection, const struct options *options, pid_t parent) {
  sigset_t none;
  sigemptyset(&none);
  sigprocmask(SIG_SETMASK, &none, NULL);
  prctl(PR_SET_PDEATHSIG, SIGKILL);
  if (getppid() != parent)
    _exit(1);
  uint64_t poll_ns = options->core >= 0 && !options->sleep ? POLL_NS : 0;
  int status = ses_remote_serve(connection, options->provider, poll_ns, tell_user);
  if (status != 0)
    fprintf(stderr, "ses-share-agent: no session: %s\n", strerror(status));
  fflush(NULL);
  _exit(status != 0);
}

/* --------------------------------------------------------------- in the parent */

static void accept_one(int listener, const struct options *options, int stop) {
  int connection = accept4(listener, NULL, NULL, SOCK_CLOEXEC | SOCK_NONBLOCK);
  struct ses_tcp_address from;
  pid_t parent = getpid();
  if (connection < 0)
    return;
  pid_t child = ses_tcp_of(connection, true, &from) && ses_served_room(from.host) ? fork() : -1;
  if (child == 0) {
    close(listener);
    close(stop);
    close(words[0]);
    serve(connection, options, parent);
  }
  close(connection);
  if (child > 0)
    ses_served_begins(child, from.host);
}

static void hear(void) {
  struct word word;
  while (read(words[0], &word, sizeof word) == sizeof word)
    ses_served_proven(word.process, word.user);
}

static void bury(void) {
  for (pid_t child; (child = waitpid(-1, NULL, WNOHANG)) > 0;) {
    ses_served_ended(child);
    ses_memory_ended(child);
  }
}

static int run(int listener, const struct options *options) {
  sigset_t heard;
  struct signalfd_siginfo signal;
  sigemptyset(&heard);
  sigaddset(&heard, SIGCHLD);
  sigaddset(&heard, SIGTERM);
  sigaddset(&heard, SIGINT);
  sigprocmask(SIG_BLOCK, &heard, NULL);
  int signals = signalfd(-1, &heard, SFD_CLOEXEC | SFD_NONBLOCK);
  struct pollfd all[] = {{.fd = listener, .events = POLLIN},
                         {.fd = signals, .events = POLLIN},
                         {.fd = words[0], .events = POLLIN}};
  for (;;) {
    if (poll(all, 3, -1) < 0 && errno != EINTR)
      return 1;
    hear(); /* before those who said it are forgotten */
    while (read(signals, &signal, sizeof signal) == sizeof signal)
      if (signal.ssi_signo != SIGCHLD)
        return 0; /* who serves is killed with this process */
    bury();
    if (all[0].revents)
      accept_one(listener, options, signals);
  }
}

int main(int argc, char **argv) {
  struct options options;
  struct ses_tcp_address where = {.port = SES_REMOTE_PORT};
  const char *why = "no address";
  int status = read_options(argc, argv, &options);
  if (status >= 0)
    return status;
  int listener = ses_tcp_read(options.listen, &where) ? ses_tcp_listen(&where, &why) : -1;
  if (listener < 0)
    return ses_refuse(PROGRAM, "--listen:", why);
  if (pipe2(words, O_CLOEXEC | O_NONBLOCK) != 0)
    return 1;
  signal(SIGCHLD, SIG_DFL); /* who started this may ignore it: then no end is learned of */
  if (!ses_stay_on_core(PROGRAM, options.core) || !ses_go_first(PROGRAM, options.fifo))
    return 1;
  ses_served_limit(options.sessions);
  ses_memory_limit((uint64_t)options.memory << 20);
  ses_fabric_prepare(options.provider);
  fprintf(stderr, "ses-share-agent: listens on %s %s\n", where.host, where.port);
  return run(listener, &options);
}
