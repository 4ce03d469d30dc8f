/*
 * The order of steps.  The cheap questions come first, so that a create that
 * is none of our business costs one statx(); whatever is doubtful ends in
 * SES_PLAIN before anything has been changed.
 */
#include "place.h"

#include <fcntl.h>
#include <signal.h>
#include <stdatomic.h>
#include <stddef.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/statfs.h>
#include <sys/sysmacros.h>

#include "ask.h"
#include "backend.h"
#include "breaker.h"
#include "clock.h"
#include "device.h"
#include "directory.h"
#include "elsewhere.h"
#include "log.h"
#include "path.h"
#include "plan.h"
#include "plan_segment.h"
#include "rules.h"
#include "settings.h"
#include "sys.h"

/* Longer ways to the directory are left to the plain call. */
#define PARENT_MAX sizeof(struct ses_answer)

/* Where the file shall go, and the one buffer of the whole path (2 KiB of stack is the limit for
 * everything: threads and signal handlers may have little). */
struct scene {
  const char *path;
  uint64_t parent_inode;
  int dirfd;
  unsigned parent_length; /* bytes of PATH up to and with the last '/'; 0: DIRFD is the parent */
  unsigned path_length;
  unsigned major; /* the parent's device */
  unsigned minor;
  unsigned parent_mode;
  unsigned parent_gid;
  union {
    struct statx stat;
    struct statfs file_system; /* needed before anything else is looked at */
  };
  union {
    char parent[PARENT_MAX];
    struct ses_ask ask;
    struct ses_answer answer;
    struct ses_report report;
    struct ses_plan_end end;
  } buffer;
  union { /* where to report to */
    struct ses_conversation conversation;
    struct ses_plan_claim claim;
  } back;
  bool in_place; /* see struct ses_backend_row */
};

/* The frame that is in a conversation in this thread, so that a signal handler that interrupts it
 * does not start another.  One that siglongjmp() has left behind no longer counts as soon as the
 * stack is seen above it. */
static _Thread_local uintptr_t busy_frame;

static bool is_busy(uintptr_t frame) { return busy_frame > frame; }

/* Find where the name begins.  False: no name, or not a path a file can be created at. */
static bool find_parent(struct scene *scene) {
  size_t length = ses_path_length(scene->path);
  size_t parent = length;
  while (parent > 0 && scene->path[parent - 1] != '/')
    parent--;
  scene->parent_length = (unsigned)parent;
  scene->path_length = (unsigned)length;
  return length > parent && parent < PARENT_MAX;
}

static const char *parent_path(struct scene *scene) {
  memcpy(scene->buffer.parent, scene->path, scene->parent_length);
  scene->buffer.parent[scene->parent_length] = '\0';
  return scene->buffer.parent;
}

static int stat_parent(struct scene *scene, int sync) {
  return ses_sys_statx(scene->dirfd, parent_path(scene),
                       sync | (scene->parent_length ? 0 : AT_EMPTY_PATH),
                       STATX_TYPE | STATX_MODE | STATX_GID, &scene->stat);
}

/* The type of the parent's file system; 0 when it cannot be told.  Overwrites scene->stat. */
__attribute__((noinline)) static unsigned long file_system_of_parent(struct scene *scene) {
  struct statfs *found = &scene->file_system;
  const char *parent = parent_path(scene);
  long failed;
  if (scene->dirfd == AT_FDCWD || *parent == '/')
    failed = ses_sys2(SYS_statfs, ses_address(*parent ? parent : "."), ses_address(found));
  else /* another directory of the same file system, as a rule; the agent has the last word */
    failed = ses_sys2(SYS_fstatfs, scene->dirfd, ses_address(found));
  return failed ? 0 : (unsigned long)found->f_type;
}

/* Can the parent's device hold placed files?  One statx() for a device seen before. */
static bool can_device(struct scene *scene) {
  if (stat_parent(scene, AT_STATX_DONT_SYNC) != 0 || !S_ISDIR(scene->stat.stx_mode))
    return false;
  scene->major = scene->stat.stx_dev_major;
  scene->minor = scene->stat.stx_dev_minor;
  scene->parent_inode = scene->stat.stx_ino;
  scene->parent_mode = scene->stat.stx_mode;
  scene->parent_gid = scene->stat.stx_gid;
  /* Lustre numbers its devices as it likes: only the kind of file system tells. */
  enum ses_device_state state = ses_device_lookup(scene->major, scene->minor);
  if (state == SES_DEVICE_UNKNOWN) {
    const struct ses_backend_row *row = ses_backend_of(file_system_of_parent(scene));
    state = !row            ? SES_DEVICE_NOT_MANAGED
            : row->in_place ? SES_DEVICE_IN_PLACE
                            : SES_DEVICE_POSSIBLE;
    ses_device_remember(scene->major, scene->minor, state, false);
  }
  scene->in_place = state == SES_DEVICE_IN_PLACE;
  return state == SES_DEVICE_POSSIBLE || state == SES_DEVICE_IN_PLACE;
}

static bool is_possible(struct scene *scene) {
  if (*scene->path != '/')
    return can_device(scene);
  uint64_t key = ses_elsewhere_key(scene->path, scene->parent_length);
  if (ses_elsewhere_is(key))
    return false;
  bool possible = can_device(scene);
  if (!possible)
    ses_elsewhere_remember(key);
  return possible;
}

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

/* A default ACL would give the file its rights by other rules than mode and umask. */
static bool has_default_acl(struct scene *scene) {
  static const char name[] = "system.posix_acl_default";
  const char *parent = parent_path(scene);
  long result = -EBADF;
  if (scene->dirfd == AT_FDCWD || *parent == '/')
    result = ses_sys4(SYS_getxattr, ses_address(*parent ? parent : "."), ses_address(name), 0, 0);
  else if (!*parent)
    result = ses_sys4(SYS_fgetxattr, scene->dirfd, ses_address(name), 0, 0);
  if (result == -EBADF) { /* below a descriptor, or one that is O_PATH */
    int flags = O_RDONLY | O_DIRECTORY | O_CLOEXEC;
    int fd = ses_sys_openat(scene->dirfd, *parent ? parent : ".", flags, 0);
    if (fd < 0)
      return true; /* cannot look: assume the worst */
    result = ses_sys4(SYS_fgetxattr, fd, ses_address(name), 0, 0);
    ses_sys_close(fd);
  }
  return result != -ENODATA && result != -EOPNOTSUPP;
}

/* What the program states itself, else what was stated for this run. */
static unsigned stated(const struct ses_need *need,
                       const struct ses_wire_requirement **requirements) {
  unsigned count = need ? need->requirement_count : 0;
  *requirements = count ? need->requirements : ses_settings()->require;
  if (count == 0)
    return ses_settings()->require_count;
  return count < SES_REQUIREMENTS_MAX ? count : SES_REQUIREMENTS_MAX;
}

static const char *application_of(const struct ses_need *need) {
  return need && need->application && *need->application ? need->application
                                                         : ses_settings()->application;
}

static void fill_ask(struct scene *scene, const struct ses_need *need) {
  struct ses_ask *ask = &scene->buffer.ask;
  memset(ask, 0, sizeof *ask);
  ask->device_major = scene->major;
  ask->device_minor = scene->minor;
  ask->expected_bytes = -1;
  const char *application = application_of(need);
  const struct ses_wire_requirement *requirements;
  ask->requirement_count = stated(need, &requirements);
  memcpy(ask->requirements, requirements, ask->requirement_count * sizeof *requirements);
  if (need) {
    ask->expected_bytes = need->expected_bytes;
    ask->stripe_size = need->stripe_size;
    ask->stripe_count = need->stripe_count;
    if (need->pool)
      memcpy(ask->pool, need->pool, strnlen(need->pool, sizeof ask->pool - 1));
  }
  memcpy(ask->application, application, strnlen(application, sizeof ask->application - 1));
}

static void fill_where(struct ses_where *where, const struct ses_answer *answer) {
  if (!where)
    return;
  where->backend = answer->backend;
  where->placement_id = answer->placement_id;
  where->distance = answer->distance;
  memcpy(where->element, answer->element, sizeof where->element);
}

/* STRAYED: 0, or why the file lies elsewhere than the agent said.  HOLDER: see struct ses_need. */
static void tell(struct scene *scene, uint64_t placement_id, int holder, int result, int strayed) {
  struct ses_report *report = &scene->buffer.report;
  memset(report, 0, sizeof *report);
  report->placement_id = placement_id;
  bool created = result >= 0 && strayed == 0;
  report->outcome = created ? SES_OUTCOME_CREATED : SES_OUTCOME_NOT_CREATED;
  report->error = result >= 0 ? strayed : -result;
  report->fd = !created ? -1 : holder ? -holder : result;
  int handle = -1;
  if (created) {
    report->device = (uint64_t)makedev(scene->stat.stx_dev_major, scene->stat.stx_dev_minor);
    report->inode = scene->stat.stx_ino;
    handle = ses_ask_open_handle(scene->dirfd, scene->path);
  }
  ses_ask_report(&scene->back.conversation, report, handle);
}

/* Look at the directory again, freshly this time: has it become one where a file made elsewhere
 * and named here would differ from one made here? */
static bool is_unsuited(struct scene *scene) {
  struct statx *stat = &scene->stat;
  if (scene->in_place)
    return false;
  uint64_t seen = ses_directory_changes();
  if (stat_parent(scene, AT_STATX_SYNC_AS_STAT) != 0 || stat->stx_dev_major != scene->major ||
      stat->stx_dev_minor != scene->minor || has_default_acl(scene))
    return true;
  scene->parent_mode = stat->stx_mode;
  scene->parent_gid = stat->stx_gid;
  ses_directory_remember(scene->major, scene->minor, stat->stx_ino, seen);
  return false;
}

/* When a name was last found taken only by its create: programs that wait for a lock file to go try
 * the same name over and over, and others open the same files again and again. */
static _Atomic uint64_t name_taken_ms;
#define NAME_TAKEN_MS 1000u

/* Create as the answer in the scene's buffer says: a descriptor, or -errno and nothing is left.
 * STRAYED: 0, or why the file lies elsewhere than the answer said. */
static int create(struct scene *scene, int flags, mode_t mode, int *strayed) {
  struct ses_creation creation = {.dirfd = scene->dirfd,
                                  .path = scene->path,
                                  .flags = flags & ~SES_PLACE_NODE,
                                  .mode = mode,
                                  .parent_length = scene->parent_length,
                                  .parent_mode = scene->parent_mode,
                                  .parent_gid = scene->parent_gid,
                                  .parent_major = scene->major,
                                  .parent_minor = scene->minor,
                                  .parent_inode = scene->parent_inode,
                                  .answer = &scene->buffer.answer,
                                  .stat = &scene->stat};
  /* An answer for another kind of file system than this is? */
  int result = ses_backend_is_in_place(creation.answer) == scene->in_place
                   ? ses_backend_create(&creation)
                   : -EXDEV;
  if (result == -EEXIST)
    atomic_store_explicit(&name_taken_ms, ses_clock_ms() + NAME_TAKEN_MS, memory_order_relaxed);
  *strayed = creation.strayed;
  return result;
}

static enum ses_place_status outcome(struct ses_where *where, int result, int strayed) {
  if (where)
    where->error = result >= 0 ? strayed : -result;
  return result >= 0 && strayed == 0 ? SES_PLACE_PLACED : SES_PLACE_FAILED;
}

/* From the question to the report, with most signals held off. */
static enum ses_place_status converse(struct scene *scene, int flags, mode_t mode,
                                      const struct ses_need *need, struct ses_where *where,
                                      int *result) {
  struct ses_conversation *conversation = &scene->back.conversation;
  struct ses_answer *answer = &scene->buffer.answer;
  fill_ask(scene, need);
  if (where)
    where->asked = true;
  enum ses_place_status status = ses_ask_open(conversation, &scene->buffer.ask);
  if (status != SES_PLACE_PLACED)
    return status;
  if (is_unsuited(scene)) { /* while the agent thinks */
    ses_ask_close(conversation);
    return SES_PLACE_UNSUITED;
  }

  status = ses_ask_wait(conversation, answer);
  if (status == SES_PLACE_NOT_MANAGED)
    ses_device_remember(scene->major, scene->minor, SES_DEVICE_NOT_MANAGED, true);
  if (status != SES_PLACE_PLACED)
    return status;
  uint64_t placement_id = answer->placement_id;
  int strayed = 0;
  fill_where(where, answer);
  *result = create(scene, flags, mode, &strayed);
  tell(scene, placement_id, need ? need->holder : 0, *result, strayed);
  return outcome(where, *result, strayed);
}

/* May the look at the name be left to the create?  Where a name is to be new, it mostly is.  A
 * create in place says so itself, for the price that the look would have; without a ticket at hand
 * the agent is not to be troubled with files that are there. */
static bool is_probably_new(const struct scene *scene, int flags, bool has_ticket) {
  bool fresh = flags & O_EXCL ? has_ticket || scene->in_place : has_ticket && scene->in_place;
  return fresh && ses_clock_ms() >= atomic_load_explicit(&name_taken_ms, memory_order_relaxed);
}

/* From the ticket to the report.  SES_PLACE_NO_DECISION: there is none to be had. */
static enum ses_place_status redeem(struct scene *scene, const struct ses_plan_spot *spot,
                                    int flags, mode_t mode, const struct ses_need *need,
                                    struct ses_where *where, int *result) {
  struct ses_plan_claim *claim = &scene->back.claim;
  if (!ses_directory_suits(scene->major, scene->minor, scene->parent_inode) && is_unsuited(scene))
    return SES_PLACE_UNSUITED;
  if (!ses_plan_take(spot, claim, &scene->buffer.answer)) {
    ses_plan_missed(spot);
    return SES_PLACE_NO_DECISION;
  }
  int holder = need ? need->holder : 0;
  ses_plan_begin(claim, scene->dirfd, scene->path, scene->path_length, application_of(need));
  if (holder)
    claim->report->pid = holder;
  int strayed = 0;
  fill_where(where, &scene->buffer.answer);
  *result = create(scene, flags, mode, &strayed);
  bool created = *result >= 0 && strayed == 0;
  struct ses_plan_end *end = &scene->buffer.end;
  *end = (struct ses_plan_end){.outcome = created ? SES_OUTCOME_CREATED : SES_OUTCOME_NOT_CREATED,
                               .error = *result >= 0 ? strayed : -*result,
                               .fd = created && !holder ? *result : -1,
                               .directory_device = (uint64_t)makedev(scene->major, scene->minor),
                               .directory_inode = scene->parent_inode};
  if (created) {
    end->device = (uint64_t)makedev(scene->stat.stx_dev_major, scene->stat.stx_dev_minor);
    end->inode = scene->stat.stx_ino;
  }
  ses_plan_report(claim, end);
  return outcome(where, *result, strayed);
}

/* Hold off handlers that might leave by siglongjmp(), so that no socket and no staged file stays
 * behind; not faults, and not what a person sends to end a program that hangs on its storage. */
static uint64_t hold_signals(void) {
  static const int through[] = {SIGHUP, SIGINT, SIGQUIT, SIGTERM, SIGSEGV, SIGBUS,
                                SIGFPE, SIGILL, SIGTRAP, SIGABRT, SIGSYS};
  uint64_t mask = ~UINT64_C(0);
  uint64_t before = 0;
  for (size_t i = 0; i < sizeof through / sizeof through[0]; i++)
    mask &= ~(UINT64_C(1) << (through[i] - 1));
  ses_sys4(SYS_rt_sigprocmask, SIG_BLOCK, ses_address(&mask), ses_address(&before), sizeof mask);
  return before;
}

static void release_signals(uint64_t before) {
  ses_sys4(SYS_rt_sigprocmask, SIG_SETMASK, ses_address(&before), 0, sizeof before);
}

/* Does the name not suit, or is there something under it?  HAS_TICKET: one lies at hand. */
static enum ses_place_status look_at_name(struct scene *scene, int flags, bool has_ticket) {
  const char *name = scene->path + scene->parent_length;
  if (scene->in_place && !ses_backend_suits_in_place(name, flags))
    return SES_PLACE_UNSUITED;
  if (is_probably_new(scene, flags, has_ticket))
    return SES_PLACE_PLACED;
  int found =
      ses_sys_statx(scene->dirfd, scene->path, AT_SYMLINK_NOFOLLOW, STATX_TYPE, &scene->stat);
  if (found == -ENOENT)
    return SES_PLACE_PLACED;
  return found == 0 ? SES_PLACE_EXISTS : SES_PLACE_UNSUITED;
}

/* What a plan can serve: all but what the program asks for besides requirements. */
static bool is_plannable(const struct ses_need *need) {
  return !need || (!need->pool && need->expected_bytes < 0 && need->stripe_size == 0 &&
                   need->stripe_count == 0);
}

/* May the agent be asked, if it comes to that? */
static bool may_ask(void) { return ses_settings()->sync_ms != 0 && ses_breaker_may_ask(); }

static bool find_plan(const struct scene *scene, const struct ses_need *need,
                      struct ses_plan_spot *spot) {
  const struct ses_settings *settings = ses_settings();
  bool named = need && need->application && *need->application;
  if (settings->secure || !is_plannable(need))
    return false;
  uint64_t hash = named ? ses_plan_hash(need->application) : settings->application_hash;
  const struct ses_wire_requirement *requirements;
  unsigned count = stated(need, &requirements);
  hash = ses_plan_about(hash, requirements, count);
  return ses_plan_find(spot, hash, count == 0, scene->major, scene->minor);
}

static enum ses_place_status attempt(int dirfd, const char *path, int flags, mode_t mode,
                                     const struct ses_need *need, struct ses_where *where,
                                     int *result) {
  struct scene scene;
  struct ses_plan_spot spot;
  scene.dirfd = dirfd;
  scene.path = path;
  if (!find_parent(&scene))
    return SES_PLACE_UNSUITED;
  if (!is_possible(&scene))
    return SES_PLACE_NOT_MANAGED;
  if (!ses_ask_allowed())
    return SES_PLACE_NO_AGENT;
  if (!ses_rules_allow(need, dirfd, path, scene.path_length, scene.parent_length,
                       scene.buffer.parent, sizeof scene.buffer.parent))
    return SES_PLACE_EXCLUDED;
  bool planned = find_plan(&scene, need, &spot);
  enum ses_place_status status = look_at_name(&scene, flags, planned && ses_plan_has(&spot));
  if (status != SES_PLACE_PLACED)
    return status;
  status = SES_PLACE_NO_DECISION;
  uint64_t signals = hold_signals();
  busy_frame = (uintptr_t)__builtin_frame_address(0);
  atomic_signal_fence(memory_order_seq_cst);
  if (planned)
    status = redeem(&scene, &spot, flags, mode, need, where, result);
  if (!planned || status == SES_PLACE_NO_DECISION)
    status = may_ask() && ses_breaker_take() ? converse(&scene, flags, mode, need, where, result)
                                             : SES_PLACE_NO_AGENT;
  atomic_signal_fence(memory_order_seq_cst);
  busy_frame = 0;
  release_signals(signals);
  return status;
}

static __attribute__((noinline)) int place(int dirfd, const char *path, int flags, mode_t mode,
                                           const struct ses_need *need, struct ses_where *where) {
  const struct ses_settings *settings = ses_settings();
  enum ses_place_status status = SES_PLACE_NO_AGENT;
  int result = SES_PLAIN;
  if (where)
    *where = (struct ses_where){0};

  mode &= MODE_BITS;
  if (!is_suited(flags, mode)) {
    status = SES_PLACE_UNSUITED;
  } else if (settings->ready && !settings->disabled && settings->agent.sun_path[0] &&
             (may_ask() || (is_plannable(need) && ses_plan_may_be())) &&
             !is_busy((uintptr_t)__builtin_frame_address(0))) {
    status = attempt(dirfd, path, flags, mode, need, where, &result);
  }

  if (where)
    where->status = status;
  return result >= 0 ? result : SES_PLAIN;
}

/* The two never lie on the stack together. */
static __attribute__((noinline)) int place_and_log(int dirfd, const char *path, int flags,
                                                   mode_t mode, const struct ses_need *need,
                                                   struct ses_where *where) {
  struct ses_where told;
  where = where ? where : &told;
  int result = place(dirfd, path, flags, mode, need, where);
  if (!ses_settings()->disabled && ses_ask_allowed())
    ses_log_create(path, where);
  return result;
}

int ses_place_open(int dirfd, const char *path, int flags, mode_t mode, const struct ses_need *need,
                   struct ses_where *where) {
  return ses_log_is_on() ? place_and_log(dirfd, path, flags, mode, need, where)
                         : place(dirfd, path, flags, mode, need, where);
}
