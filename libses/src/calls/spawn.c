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

#define FILES 8        /* of one call; others are left to the child */
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

struct head {
  int allocated;
  int used;
  const struct action *actions;
};

_Static_assert(sizeof(struct action) == 32 && sizeof(struct head) <= sizeof(actions_type),
               "the layout is that of 64-bit machines");

static atomic_bool is_known; /* that actions lie so */

static struct head head_of(const actions_type *actions) {
  struct head head;
  memcpy(&head, actions, sizeof head);
  return head;
}

/* ACTIONS have got one more than BEFORE: does it lie there as it was WANTED? */
static void learn(const actions_type *actions, int before, const struct action *wanted) {
  struct head head = head_of(actions);
  if (head.used != before + 1 || head.used > head.allocated || before < 0 || !head.actions)
    return;
  const struct action *last = &head.actions[before];
  if (last->tag == OPEN && last->fd == wanted->fd && last->flags == wanted->flags &&
      last->mode == wanted->mode && last->path && strcmp(last->path, wanted->path) == 0)
    atomic_store_explicit(&is_known, true, memory_order_release);
}

/* Is an open of PATH, which is there, sure to succeed? */
static bool is_there(const char *path, int flags) {
  int access = flags & O_ACCMODE;
  int mode = (access != O_WRONLY ? R_OK : 0) | (access != O_RDONLY ? W_OK : 0);
  struct stat file;
  return !(flags & (O_DIRECT | O_DIRECTORY | O_EXCL | O_NOFOLLOW | O_PATH)) &&
         ses_sys4(SYS_newfstatat, AT_FDCWD, ses_address(path), ses_address(&file), 0) == 0 &&
         (S_ISREG(file.st_mode) || S_ISCHR(file.st_mode)) &&
         ses_sys4(SYS_faccessat2, AT_FDCWD, ses_address(path), mode, AT_EACCESS) == 0;
}

static bool is_open(int fd) { return ses_sys2(SYS_fcntl, fd, F_GETFD) >= 0; }

/* Is this ACTION sure to succeed?  With what those before it have OPENED and CLOSED.  Whether a
 * descriptor with O_CLOEXEC is there in the end hangs on which number was the lowest. */
static bool is_sure(const struct action *action, uint64_t *opened, uint64_t *closed) {
  int number = action->tag == DUPLICATE ? action->to : action->fd;
  if (number < 0 || number >= DESCRIPTORS || action->fd < 0 || action->fd >= DESCRIPTORS)
    return false;
  uint64_t bit = UINT64_C(1) << number;
  uint64_t from = UINT64_C(1) << action->fd;
  bool sure = action->tag == CLOSE;
  if (action->tag == DUPLICATE)
    sure = *opened & from || (!(*closed & from) && is_open(action->fd));
  else if (action->tag == OPEN && !(action->flags & O_CLOEXEC))
    sure =
        action->flags & O_CREAT ? !(action->flags & O_EXCL) : is_there(action->path, action->flags);
  *opened = action->tag == CLOSE ? *opened & ~bit : *opened | bit;
  *closed = action->tag == CLOSE ? *closed | bit : *closed & ~bit;
  return sure;
}

static bool are_sure(const struct head *head, const posix_spawnattr_t *attributes) {
  uint64_t opened = 0;
  uint64_t closed = 0;
  if (attributes && attributes->__flags & POSIX_SPAWN_RESETIDS)
    return false;
  for (int i = 0; i < head->used; i++)
    if (!is_sure(&head->actions[i], &opened, &closed))
      return false;
  return true;
}

/* What is held open until the child has it, so that the agent does not take it for finished. */
struct held {
  unsigned count;
  int fds[FILES];
  const char *paths[FILES];
};

static __attribute__((noinline)) void place(const struct head *head, struct held *held) {
  for (int i = 0; i < head->used && held->count < FILES; i++) {
    const struct action *action = &head->actions[i];
    if (action->tag != OPEN || !(action->flags & O_CREAT))
      continue;
    int fd =
        ses_place_open(AT_FDCWD, action->path, action->flags | O_CLOEXEC, action->mode, NULL, NULL);
    if (fd >= 0)
      fd = ses_keep_if_room(fd);
    if (fd >= 0) {
      held->paths[held->count] = action->path;
      held->fds[held->count++] = fd;
    } else if (!is_there(action->path, action->flags)) { /* it may fail in the child */
      return;
    }
  }
}

static int spawn_through(enum ses_call call, pid_t *pid, const char *path,
                         const actions_type *actions, const posix_spawnattr_t *attributes,
                         char *const *arguments, char *const *environment) {
  spawn_function real = (spawn_function)ses_real(call);
  struct held held = {.count = 0};
  if (!real)
    return ENOSYS;
  if (actions && atomic_load_explicit(&is_known, memory_order_acquire) && ses_ask_allowed()) {
    struct head head = head_of(actions);
    if (are_sure(&head, attributes))
      place(&head, &held);
  }
  int status = real(pid, path, actions, attributes, arguments, environment);
  for (unsigned i = 0; i < held.count; i++) {
    if (status == EAGAIN || status == ENOMEM) /* there was no child */
      ses_take_back(held.fds[i], held.paths[i]);
    ses_sys_close(held.fds[i]);
  }
  return status;
}

SES_EXPORT int posix_spawn_file_actions_addopen(actions_type *actions, int fd, const char *path,
                                                int flags, mode_t mode) {
  addopen_function real = (addopen_function)ses_real(SES_CALL_ADDOPEN);
  if (!real)
    return ENOSYS;
  int before = head_of(actions).used;
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
