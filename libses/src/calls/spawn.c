/*
 * posix_spawn(): the child opens the files of its actions by ways of the C library's own, so what
 * they create is created before it starts, where the choice says, and the child finds it.
 *
 * Only where nobody can tell: where each action is sure to succeed, since what comes after one that
 * fails is not done, and where none creates exclusively or changes the directory or the user.
 *
 * The actions lie in memory that is the C library's own business.  They are read only after
 * posix_spawn_file_actions_addopen() has put one where glibc puts it; musl puts it elsewhere.
 */
#include <errno.h>
#include <fcntl.h>
#include <spawn.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <string.h>
#include <sys/stat.h>

#include "agent/ask.h"
#include "calls/calls.h"
#include "place/place.h"
#include "runtime/sys.h"

#define NONE (-1) /* in place of a descriptor */
#define END (-2)
#define DESCRIPTORS 64 /* numbers that actions may have */

typedef posix_spawn_file_actions_t actions_type;
typedef int (*addopen_function)(actions_type *actions, int fd, const char *path, int flags,
                                mode_t mode);
typedef int (*spawn_function)(pid_t *pid, const char *path, const actions_type *actions,
                              const posix_spawnattr_t *attributes, char *const *arguments,
                              char *const *environment);

/* As in glibc's <spawn.h> and posix/spawn_int.h. */
enum tag { CLOSE, DUPLICATE, OPEN };
struct action {
  int tag;
  int reserved;
  int fd;
  int to; /* of DUPLICATE */
  const char *path;
  int flags;
  mode_t mode;
};

_Static_assert(sizeof(struct action) == 32, "the layout is that of 64-bit machines");

static atomic_bool is_known; /* that actions lie so */

/* ACTIONS begins with how many there is room for, how many there are, and where. */
static int number_in(const actions_type *actions, unsigned at) {
  int number;
  memcpy(&number, (const char *)actions + at * sizeof number, sizeof number);
  return number;
}

static int room_of(const actions_type *actions) { return number_in(actions, 0); }
static int count_of(const actions_type *actions) { return number_in(actions, 1); }

static const struct action *first_of(const actions_type *actions) {
  const struct action *first;
  memcpy(&first, (const char *)actions + 2 * sizeof(int), sizeof first);
  return first;
}

/* ACTIONS have got one more than BEFORE: does it lie there as it was WANTED? */
static void learn(const actions_type *actions, int before, const struct action *wanted) {
  int count = count_of(actions);
  if (count != before + 1 || count > room_of(actions) || before < 0 || !first_of(actions))
    return;
  const struct action *last = first_of(actions) + before;
  if (last->tag == OPEN && last->fd == wanted->fd && last->flags == wanted->flags &&
      last->mode == wanted->mode && last->path && strcmp(last->path, wanted->path) == 0)
    atomic_store_explicit(&is_known, true, memory_order_release);
}

/* Flags of opens that are sure to succeed.  Whether a descriptor with O_CLOEXEC is there in the end
 * hangs on which number was the lowest. */
#define SURE_FLAGS (O_ACCMODE | O_CREAT | O_TRUNC | O_APPEND | O_NOCTTY | O_NONBLOCK | O_LARGEFILE)

/* Is an open of PATH, which is there, sure to succeed? */
static __attribute__((noinline)) bool is_there(const char *path, int flags) {
  int access = flags & O_ACCMODE;
  int mode = (access != O_WRONLY ? R_OK : 0) | (access != O_RDONLY ? W_OK : 0);
  struct stat file;
  return ses_sys4(SYS_newfstatat, AT_FDCWD, ses_address(path), ses_address(&file), 0) == 0 &&
         (S_ISREG(file.st_mode) || S_ISCHR(file.st_mode)) &&
         ses_sys4(SYS_faccessat2, AT_FDCWD, ses_address(path), mode, AT_EACCESS) == 0;
}

static bool is_open(int fd) { return ses_sys2(SYS_fcntl, fd, F_GETFD) >= 0; }

/* Is this ACTION sure to succeed?  With what those before it have OPENED and CLOSED. */
static bool is_sure(const struct action *action, uint64_t *opened, uint64_t *closed) {
  int number = action->tag == DUPLICATE ? action->to : action->fd;
  if (number < 0 || number >= DESCRIPTORS || action->fd < 0 || action->fd >= DESCRIPTORS)
    return false;
  uint64_t bit = UINT64_C(1) << number;
  uint64_t from = UINT64_C(1) << action->fd;
  bool sure = action->tag == CLOSE;
  if (action->tag == DUPLICATE)
    sure = *opened & from || (!(*closed & from) && is_open(action->fd));
  else if (action->tag == OPEN && !(action->flags & ~SURE_FLAGS))
    sure = action->flags & O_CREAT || is_there(action->path, action->flags);
  *opened = action->tag == CLOSE ? *opened & ~bit : *opened | bit;
  *closed = action->tag == CLOSE ? *closed | bit : *closed & ~bit;
  return sure;
}

static __attribute__((noinline)) bool are_sure(const actions_type *actions,
                                               const posix_spawnattr_t *attributes) {
  uint64_t opened = 0;
  uint64_t closed = 0;
  if (!atomic_load_explicit(&is_known, memory_order_acquire) || !ses_ask_allowed() ||
      (attributes && attributes->__flags & POSIX_SPAWN_RESETIDS))
    return false;
  for (int i = 0; i < count_of(actions); i++)
    if (!is_sure(first_of(actions) + i, &opened, &closed))
      return false;
  return true;
}

/* What is to be held of FD, which may be none, for this ACTION; NONE; or END where the child may
 * fail to open the file: of a mode that lets nobody open it again. */
static __attribute__((noinline)) int settle(int fd, const struct action *action) {
  if (fd >= 0)
    fd = ses_keep_if_room(fd);
  bool sure = is_there(action->path, action->flags);
  if (fd >= 0 && !sure) {
    ses_take_back(fd, action->path);
    ses_sys_close(fd);
  }
  return !sure ? END : fd >= 0 ? fd : NONE;
}

/* What is open until the child has it, so that the agent does not take it for finished: its output
 * and its errors, as a rule.  By value: programs have little stack. */
struct held {
  int first;
  int second;
};

static __attribute__((noinline)) struct held place(const actions_type *actions,
                                                   const posix_spawnattr_t *attributes) {
  struct held held = {NONE, NONE};
  if (!actions || !are_sure(actions, attributes))
    return held;
  const struct action *action = first_of(actions);
  const struct action *end = action + count_of(actions);
  for (int fd = NONE; action < end && fd != END && held.second == NONE; action++) {
    if (action->tag != OPEN || !(action->flags & O_CREAT))
      continue;
    fd =
        ses_place_open(AT_FDCWD, action->path, action->flags | O_CLOEXEC, action->mode, NULL, NULL);
    fd = settle(fd, action);
    if (held.first == NONE && fd >= 0)
      held.first = fd;
    else if (fd >= 0)
      held.second = fd;
  }
  return held;
}

/* The child has the file of FD; or there is none, and what was to be its own goes again. */
static void let_go(int fd, const actions_type *actions, bool no_child) {
  if (fd < 0)
    return;
  for (int i = 0; no_child && i < count_of(actions); i++)
    if (first_of(actions)[i].tag == OPEN)
      ses_take_back(fd, first_of(actions)[i].path);
  ses_sys_close(fd);
}

static __attribute__((noinline)) int finish(int status, const actions_type *actions,
                                            struct held held) {
  bool no_child = status == EAGAIN || status == ENOMEM;
  let_go(held.first, actions, no_child);
  let_go(held.second, actions, no_child);
  return status;
}

static inline __attribute__((always_inline)) int
spawn_through(enum ses_call call, pid_t *pid, const char *path, const actions_type *actions,
              const posix_spawnattr_t *attributes, char *const *arguments,
              char *const *environment) {
  if (!ses_real(call))
    return ENOSYS;
  struct held held = place(actions, attributes);
  spawn_function real = (spawn_function)ses_real(call);
  return finish(real(pid, path, actions, attributes, arguments, environment), actions, held);
}

SES_EXPORT int posix_spawn_file_actions_addopen(actions_type *actions, int fd, const char *path,
                                                int flags, mode_t mode) {
  addopen_function real = (addopen_function)ses_real(SES_CALL_ADDOPEN);
  if (!real)
    return ENOSYS;
  int before = count_of(actions);
  int status = real(actions, fd, path, flags, mode);
  struct action wanted = {.fd = fd, .path = path, .flags = flags, .mode = mode};
  if (status == 0 && flags & O_CREAT)
    learn(actions, before, &wanted);
  return status;
}

SES_EXPORT int posix_spawn(pid_t *pid, const char *path, const actions_type *actions,
                           const posix_spawnattr_t *attributes, char *const *arguments,
                           char *const *environment) {
  return spawn_through(SES_CALL_SPAWN, pid, path, actions, attributes, arguments, environment);
}

SES_EXPORT int posix_spawnp(pid_t *pid, const char *file, const actions_type *actions,
                            const posix_spawnattr_t *attributes, char *const *arguments,
                            char *const *environment) {
  return spawn_through(SES_CALL_SPAWNP, pid, file, actions, attributes, arguments, environment);
}
