#include "agent/ask.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/seccomp.h>
#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <stddef.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <time.h>

#include "agent/breaker.h"
#include "backends/answer.h"
#include "runtime/fd_path.h"
#include "runtime/names.h"
#include "runtime/sys.h"
#include "settings/known_filter.h"
#include "settings/settings.h"

static int64_t now_ns(void) {
  struct timespec now;
  clock_gettime(CLOCK_MONOTONIC, &now);
  return (int64_t)now.tv_sec * 1000000000 + now.tv_nsec;
}

static struct ses_header header(enum ses_message_type type, uint32_t size) {
  return (struct ses_header){.magic = SES_PROTOCOL_MAGIC,
                             .version = SES_PROTOCOL_VERSION,
                             .type = (uint16_t)type,
                             .size = size};
}

/* The number that the C library keeps of this thread; 0: not known.  It is in the clock of the
 * thread, in glibc and in musl.  Looked up, for few programs come here: a name more to be bound
 * would cost every program that starts. */
static __attribute__((noinline)) int kept_task(void) {
  typedef pthread_t (*self_function)(void);
  typedef int (*clock_function)(pthread_t thread, clockid_t * clock);
  static _Atomic(self_function) known_self;
  static _Atomic(clock_function) known_clock;
  self_function self = atomic_load_explicit(&known_self, memory_order_relaxed);
  clock_function clock_of = atomic_load_explicit(&known_clock, memory_order_relaxed);
  if (!self || !clock_of) {
    int saved = errno;
    *(void **)(&self) = ses_first_of("pthread_self");
    *(void **)(&clock_of) = ses_first_of("pthread_getcpuclockid");
    errno = saved;
    atomic_store_explicit(&known_self, self, memory_order_relaxed);
    atomic_store_explicit(&known_clock, clock_of, memory_order_relaxed);
  }
  clockid_t clock;
  return self && clock_of && clock_of(self(), &clock) == 0 ? ~(clock >> 3) : 0;
}

/*
 * glibc registers a robust-futex list for every thread and for the child of
 * fork(); the kernel starts every task without one.  So a task that has none was
 * made by vfork(), posix_spawn() or a bare clone(): it may run on memory, and on
 * thread-local storage, that belongs to a suspended parent.  musl registers none
 * for most threads, and some kernels know no such lists; then the thread is the
 * task's own if it has the task's number, which C libraries set for a thread and
 * for the child of fork(), and nobody for the others.
 * Limit: a program that uses raw clone() or fork system calls for ordinary
 * children is not served in them.
 *
 * That question is the dearest of the small ones, so a task that has passed is
 * remembered by its number: a child that runs on its parent's memory finds the
 * parent's there.  Not number 1, which a child may have as well as its parent,
 * as the first of another process namespace.
 */
static int runs_on_own_thread(void) {
  static _Thread_local int passed;
  int task = (int)ses_sys0(SYS_gettid);
  if (task == passed)
    return 1;
  void *list = NULL;
  size_t size = 0;
  if ((ses_sys3(SYS_get_robust_list, 0, ses_address(&list), ses_address(&size)) != 0 || !list) &&
      kept_task() != task)
    return 0;
  if (task != 1)
    passed = task;
  return 1;
}

/* -EINVAL: the kernel has no filters. */
static int is_filtered(void) {
  long mode = ses_sys2(SYS_prctl, PR_GET_SECCOMP, 0);
  return mode != SECCOMP_MODE_DISABLED && mode != -EINVAL;
}

int ses_ask_allowed(void) {
  return runs_on_own_thread() &&
         (!is_filtered() || (ses_settings()->filter_is_known && ses_filter_is_the_only_one()));
}

void ses_ask_close(struct ses_conversation *conversation) {
  if (conversation->fd >= 0)
    ses_sys_close(conversation->fd);
  conversation->fd = -1;
}

/* Leave the lowest free descriptor, and 0-2, to the program. */
static int move_up(int fd) {
  int least = fd < 2 ? 3 : fd + 1;
  int moved = (int)ses_sys3(SYS_fcntl, fd, F_DUPFD_CLOEXEC, least);
  ses_sys_close(fd);
  return moved;
}

int ses_ask_open_handle(int fd) {
  char path[SES_FD_PATH_MAX];
  ses_fd_path(fd, path);
  int handle = ses_sys_openat(AT_FDCWD, path, O_PATH | O_CLOEXEC, 0);
  return handle >= 0 && handle <= 2 ? move_up(handle) : handle;
}

static int peer_is_trusted(int fd) {
  struct ucred peer;
  socklen_t size = sizeof peer;
  if (ses_sys5(SYS_getsockopt, fd, SOL_SOCKET, SO_PEERCRED, ses_address(&peer),
               ses_address(&size)) != 0 ||
      size != sizeof peer)
    return 0;
  return peer.uid == 0 || (long)peer.uid == ses_sys0(SYS_geteuid);
}

static long send_message(int fd, const void *message, size_t size) {
  return ses_sys6(SYS_sendto, fd, ses_address(message), (long)size, MSG_DONTWAIT | MSG_NOSIGNAL, 0,
                  0);
}

enum ses_place_status ses_ask_open(struct ses_conversation *conversation, struct ses_ask *ask) {
  const struct ses_settings *settings = ses_settings();
  conversation->fd = -1;
  if (conversation->deadline == 0)
    conversation->deadline = now_ns() + (int64_t)settings->sync_ms * 1000000;

  int fd = (int)ses_sys3(SYS_socket, AF_UNIX, SOCK_SEQPACKET | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
  if (fd >= 0)
    fd = move_up(fd);
  if (fd < 0) /* no descriptor left: no fault of the agent's, and the program's call will say so */
    return SES_PLACE_NO_AGENT;

  ask->header = header(SES_MESSAGE_ASK, sizeof *ask);
  if (ses_sys3(SYS_connect, fd, ses_address(&settings->agent), sizeof settings->agent) != 0 ||
      !peer_is_trusted(fd) || send_message(fd, ask, sizeof *ask) != (long)sizeof *ask) {
    ses_sys_close(fd);
    ses_breaker_failed();
    return SES_PLACE_NO_AGENT;
  }
  conversation->fd = fd;
  return SES_PLACE_PLACED;
}

static int is_header(const struct ses_header *seen, enum ses_message_type type, uint32_t size) {
  struct ses_header expected = header(type, size);
  return memcmp(seen, &expected, sizeof expected) == 0;
}

/* What a whole message of the right size means. */
static enum ses_place_status judge(const struct ses_answer *answer) {
  if (!is_header(&answer->header, SES_MESSAGE_ANSWER, sizeof *answer))
    return SES_PLACE_NO_ANSWER;
  switch (answer->status) {
  case SES_ANSWER_PLACE:
    return ses_answer_is_placement(answer) ? SES_PLACE_PLACED : SES_PLACE_NO_ANSWER;
  case SES_ANSWER_NOT_MANAGED:
    return SES_PLACE_NOT_MANAGED;
  case SES_ANSWER_UNAVAILABLE:
    return SES_PLACE_NO_DECISION;
  default:
    return SES_PLACE_NO_ANSWER;
  }
}

/* 1: a message, or the peer's end, is there to be read before the deadline. */
static int wait_readable(const struct ses_conversation *conversation) {
  for (;;) {
    int64_t left = conversation->deadline - now_ns();
    if (left <= 0)
      return 0;
    struct timespec timeout = {.tv_sec = left / 1000000000, .tv_nsec = left % 1000000000};
    struct pollfd poll = {.fd = conversation->fd, .events = POLLIN};
    long ready = ses_sys5(SYS_ppoll, ses_address(&poll), 1, ses_address(&timeout), 0, 0);
    if (ready > 0)
      return 1;
    if (ready != -EINTR)
      return 0;
  }
}

enum ses_place_status ses_ask_wait(struct ses_conversation *conversation,
                                   struct ses_answer *answer) {
  enum ses_place_status status = SES_PLACE_NO_ANSWER;
  /* MSG_TRUNC: the size of the message, even if it is longer than the buffer. */
  if (wait_readable(conversation) &&
      ses_sys6(SYS_recvfrom, conversation->fd, ses_address(answer), sizeof *answer,
               MSG_DONTWAIT | MSG_TRUNC, 0, 0) == (long)sizeof *answer)
    status = judge(answer);

  /* "Cannot say" pauses too: it may have taken as long as the whole budget. */
  if (status == SES_PLACE_NO_ANSWER || status == SES_PLACE_NO_DECISION)
    ses_breaker_failed();
  else
    ses_breaker_answered();
  if (status != SES_PLACE_PLACED)
    ses_ask_close(conversation);
  return status;
}

static long send_with_handle(int fd, const struct ses_report *report, int handle) {
  union {
    struct cmsghdr header;
    char space[CMSG_SPACE(sizeof(int))];
  } control = {.header = {.cmsg_len = CMSG_LEN(sizeof(int)),
                          .cmsg_level = SOL_SOCKET,
                          .cmsg_type = SCM_RIGHTS}};
  memcpy(CMSG_DATA(&control.header), &handle, sizeof handle);
  struct iovec text = {.iov_base = (void *)report, .iov_len = sizeof *report};
  struct msghdr message = {
      .msg_iov = &text, .msg_iovlen = 1, .msg_control = &control, .msg_controllen = sizeof control};
  return ses_sys3(SYS_sendmsg, fd, ses_address(&message), MSG_DONTWAIT | MSG_NOSIGNAL);
}

void ses_ask_report(struct ses_conversation *conversation, struct ses_report *report, int handle) {
  report->header = header(SES_MESSAGE_REPORT, sizeof *report);
  if (handle < 0 || send_with_handle(conversation->fd, report, handle) < 0)
    send_message(conversation->fd, report, sizeof *report);
  if (handle >= 0)
    ses_sys_close(handle);
}

/* The agent sends nothing after its answer, and hangs up when it has the report. */
bool ses_ask_wait_for_end(const struct ses_conversation *conversation) {
  return wait_readable(conversation);
}
