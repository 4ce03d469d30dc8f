/*
 * The order of steps.  The cheap questions come first, so that a create that
 * is none of our business costs one statx(); whatever is doubtful ends in
 * SES_PLAIN before anything has been changed.
 */
#include "place/place.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdatomic.h>
#include <stddef.h>

#include "agent/ask.h"
#include "agent/breaker.h"
#include "log/log.h"
#include "place/steps.h"
#include "rules/rules.h"
#include "runtime/sys.h"
#include "segments/published.h"
#include "settings/settings.h"

/* The frame that is in a conversation in this thread, so that a signal handler that interrupts it
 * does not start another.  One that siglongjmp() has left behind no longer counts as soon as the
 * stack is seen above it. */
static _Thread_local uintptr_t busy_frame;
static _Thread_local uint64_t busy_signals; /* that the thread had blocked before it */

static bool is_busy(uintptr_t frame) { return busy_frame > frame; }

/* What the kernel looks at of a mode: programs that copy files pass their type with it. */
#define MODE_BITS ((mode_t)07777)

/* Flags and modes whose every effect the second open of a finished file reproduces. */
static bool is_suited(int flags, mode_t mode) {
  int access = flags & O_ACCMODE;
  if (!(flags & O_CREAT) || flags & (O_PATH | O_DIRECTORY) || mode & ~(mode_t)0777)
    return false;
  if (access != O_RDONLY && access != O_WRONLY && access != O_RDWR)
    return false;
  return (access == O_WRONLY || mode & S_IRUSR) && (access == O_RDONLY || mode & S_IWUSR);
}

/* Hold off handlers that might leave by siglongjmp(), so that no socket and no staged file stays
 * behind; not faults, and not what a person sends to end a program that hangs on its storage. */
static __attribute__((noinline)) uint64_t hold_signals(void) {
  static const int through[] = {SIGHUP, SIGINT,  SIGQUIT, SIGTERM, SIGSEGV, SIGBUS, SIGFPE,
                                SIGILL, SIGTRAP, SIGABRT, SIGSYS,  SIGKILL, SIGSTOP};
  uint64_t mask = ~UINT64_C(0);
  uint64_t before = 0;
  for (size_t i = 0; i < sizeof through / sizeof through[0]; i++)
    mask &= ~(UINT64_C(1) << (through[i] - 1));
  ses_sys4(SYS_rt_sigprocmask, SIG_BLOCK, ses_address(&mask), ses_address(&before), sizeof mask);
  /* longjmp() out of one restores no mask; a C library blocks some of these for nobody. */
  if (busy_frame != 0 && (mask & ~before) == 0)
    before = busy_signals | (before & ~mask);
  busy_signals = before;
  return before;
}

static void release_signals(uint64_t before) {
  ses_sys4(SYS_rt_sigprocmask, SIG_SETMASK, ses_address(&before), 0, sizeof before);
}

/* What can be decided here: all but what names a pool, or more stripes than a claim has room for.
 */
static bool is_decidable(const struct ses_need *need) {
  return !ses_settings()->secure &&
         (!need || (!need->pool && need->stripe_count <= SES_CLAIMS_STRIPES));
}

/* May the agent be asked, if it comes to that? */
static bool may_ask(void) { return ses_settings()->sync_ms != 0 && ses_breaker_may_ask(); }

/* A program that does not say how wide its file is to be gets the width of its directory. */
static void find_width(struct ses_order *order) {
  struct ses_entry *entry = &order->entry;
  bool is_stated = order->need && order->need->stripe_count > 0;
  entry->width = 0;
  if (entry->in_place && !is_stated)
    entry->width = (uint16_t)ses_backend_width_in_place(&entry->file);
}

static struct ses_stated stated_by(const struct ses_need *need) {
  struct ses_stated stated = {.expected_bytes = -1};
  stated.application = need && need->application ? ses_segment_hash(need->application)
                                                 : ses_settings()->application_hash;
  stated.count = ses_requirements_of(need, &stated.requirements);
  if (need) {
    stated.expected_bytes = need->expected_bytes;
    stated.stripe_count = need->stripe_count;
    stated.stripe_size = need->stripe_size;
  }
  return stated;
}

/* Is it a create to be decided about?  SES_PLACE_PLACED: yes, as far as its directory shows. */
static __attribute__((noinline)) enum ses_place_status look(struct ses_order *order) {
  struct ses_entry *entry = &order->entry;
  struct ses_work work;
  if (!ses_entry_begin(entry))
    return SES_PLACE_UNSUITED;
  if (!ses_entry_is_possible(entry, &work))
    return SES_PLACE_NOT_MANAGED;
  if (!ses_ask_allowed())
    return SES_PLACE_NO_AGENT;
  bool allowed =
      ses_rules_allow(order->need, entry->file.dirfd, entry->file.path, entry->path_length,
                      entry->file.parent_length, work.parent, sizeof work.parent);
  return allowed ? SES_PLACE_PLACED : SES_PLACE_EXCLUDED;
}

static enum ses_place_status attempt(struct ses_order *order) {
  struct ses_candidates candidates;
  enum ses_place_status status = look(order);
  if (status != SES_PLACE_PLACED)
    return status;
  struct ses_entry *entry = &order->entry;
  struct ses_stated stated = stated_by(order->need);
  bool at_hand = is_decidable(order->need) &&
                 ses_candidates_find(&candidates, stated.application, entry->file.parent_major,
                                     entry->file.parent_minor);
  status = ses_entry_look_at_name(entry, at_hand);
  if (status != SES_PLACE_PLACED)
    return status;
  find_width(order);
  stated.width = entry->width;
  status = SES_PLACE_NO_DECISION;
  uint64_t signals = hold_signals();
  busy_frame = (uintptr_t)__builtin_frame_address(0);
  atomic_signal_fence(memory_order_seq_cst);
  if (at_hand && (entry->width <= SES_CLAIMS_STRIPES || entry->width == SES_WIDTH_ALL))
    status = ses_place_by_choice(order, &candidates, &stated);
  if (status == SES_PLACE_NO_DECISION && at_hand && entry->width == SES_WIDTH_ALL)
    status = SES_PLACE_UNSUITED;
  if (status == SES_PLACE_NO_DECISION)
    status = may_ask() && ses_breaker_take() ? ses_place_by_asking(order) : SES_PLACE_NO_AGENT;
  atomic_signal_fence(memory_order_seq_cst);
  busy_frame = 0;
  release_signals(signals);
  return status;
}

static __attribute__((noinline)) int place(struct ses_order *order) {
  const struct ses_settings *settings = ses_settings();
  struct ses_creation *file = &order->entry.file;
  enum ses_place_status status = SES_PLACE_NO_AGENT;
  if (order->where)
    *order->where = (struct ses_where){0};

  if (!is_suited(file->flags, file->mode)) {
    status = SES_PLACE_UNSUITED;
  } else if (settings->ready && !settings->disabled && settings->agent.sun_path[0] &&
             (may_ask() || (is_decidable(order->need) && ses_table_may_be())) &&
             !is_busy((uintptr_t)__builtin_frame_address(0))) {
    status = attempt(order);
  }

  if (order->where)
    order->where->status = status;
  if (order->result == -EEXIST && order->entry.in_place && file->flags & O_EXCL)
    return SES_EXISTS;
  return order->result >= 0 ? order->result : status == SES_PLACE_EXISTS ? SES_TAKEN : SES_PLAIN;
}

static __attribute__((noinline)) int place_and_log(struct ses_order *order) {
  struct ses_where own;
  order->where = order->where ? order->where : &own;
  int result = place(order);
  if (!ses_settings()->disabled && ses_ask_allowed())
    ses_log_create(order->entry.file.path, order->where);
  return result;
}

int ses_place_open(int dirfd, const char *path, int flags, mode_t mode, const struct ses_need *need,
                   struct ses_where *where) {
  struct ses_order order;
  order.entry.file.dirfd = dirfd;
  order.entry.file.path = path;
  order.entry.file.flags = flags;
  order.entry.file.mode = mode & MODE_BITS;
  order.need = need;
  order.where = where;
  order.result = SES_PLAIN;
  return ses_log_is_on() ? place_and_log(&order) : place(&order);
}
