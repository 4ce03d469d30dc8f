#include "calls/calls.h"

#include <errno.h>
#include <stdatomic.h>
#include <stddef.h>

#include "runtime/names.h"
#include "runtime/sys.h"
#include "settings/settings.h"

/* Not pointers, and apart from the functions: what the loader need not write to is shared by all
 * programs. */
static const char names[SES_CALLS][33] = {
    [SES_CALL_OPEN] = "open",
    [SES_CALL_OPEN64] = "open64",
    [SES_CALL_UU_OPEN] = "__open",
    [SES_CALL_UU_OPEN64] = "__open64",
    [SES_CALL_OPENAT] = "openat",
    [SES_CALL_OPENAT64] = "openat64",
    [SES_CALL_CREAT] = "creat",
    [SES_CALL_CREAT64] = "creat64",
    [SES_CALL_FOPEN] = "fopen",
    [SES_CALL_FOPEN64] = "fopen64",
    [SES_CALL_IO_FOPEN] = "_IO_fopen",
    [SES_CALL_FREOPEN] = "freopen",
    [SES_CALL_FREOPEN64] = "freopen64",
    [SES_CALL_MKSTEMP] = "mkstemp",
    [SES_CALL_MKSTEMP64] = "mkstemp64",
    [SES_CALL_MKOSTEMP] = "mkostemp",
    [SES_CALL_MKOSTEMP64] = "mkostemp64",
    [SES_CALL_MKSTEMPS] = "mkstemps",
    [SES_CALL_MKSTEMPS64] = "mkstemps64",
    [SES_CALL_MKOSTEMPS] = "mkostemps",
    [SES_CALL_MKOSTEMPS64] = "mkostemps64",
    [SES_CALL_MKNOD] = "mknod",
    [SES_CALL_MKNODAT] = "mknodat",
    [SES_CALL_UU_XMKNOD] = "__xmknod",
    [SES_CALL_UU_XMKNODAT] = "__xmknodat",
    [SES_CALL_SPAWN] = "posix_spawn",
    [SES_CALL_SPAWNP] = "posix_spawnp",
    [SES_CALL_ADDOPEN] = "posix_spawn_file_actions_addopen",
    [SES_CALL_SETXATTR] = "setxattr",
    [SES_CALL_LSETXATTR] = "lsetxattr",
    [SES_CALL_FSETXATTR] = "fsetxattr",
};

static _Atomic(ses_function) functions[SES_CALLS];

/* Set while this thread is inside the look-up, whose allocations may come back to us. */
static _Thread_local volatile int looking_up;

static __attribute__((noinline)) ses_function look_up(enum ses_call call) {
  if (looking_up)
    return NULL;
  int saved = errno;
  looking_up = 1;
  ses_function function = NULL;
  /* The one way ISO C leaves from an object pointer to a function pointer. */
  *(void **)(&function) = ses_next_of(names[call]);
  looking_up = 0;
  errno = saved;
  atomic_store_explicit(&functions[call], function, memory_order_release);
  return function;
}

ses_function ses_real(enum ses_call call) {
  ses_function known = atomic_load_explicit(&functions[call], memory_order_acquire);
  return known ? known : look_up(call);
}

/* The usual ones while there is one thread: later a look-up could wait for somebody else's
 * dlopen(). Not all, and none in tools that end at once: each costs every program that starts a few
 * hundred nanoseconds. */
__attribute__((constructor)) static void look_up_usual(void) {
  if (ses_settings()->is_system_tool)
    return;
  static const unsigned char usual[] = {SES_CALL_OPEN,     SES_CALL_OPEN64, SES_CALL_OPENAT,
                                        SES_CALL_OPENAT64, SES_CALL_FOPEN,  SES_CALL_FOPEN64};
  for (size_t i = 0; i < sizeof usual; i++)
    ses_real((enum ses_call)usual[i]);
}

int ses_raw_openat(int dirfd, const char *path, int flags, mode_t mode) {
  int result = ses_sys_openat(dirfd, path, flags, mode);
  if (result >= 0)
    return result;
  errno = -result;
  return -1;
}
