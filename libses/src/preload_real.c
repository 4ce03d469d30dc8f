#include "preload.h"

#include <dlfcn.h>
#include <errno.h>
#include <stdatomic.h>
#include <stddef.h>

#include "sys.h"

static struct {
  const char *name;
  _Atomic(ses_function) function;
} table[SES_CALLS] = {
    [SES_CALL_OPEN] = {"open", NULL},
    [SES_CALL_OPEN64] = {"open64", NULL},
    [SES_CALL_UU_OPEN] = {"__open", NULL},
    [SES_CALL_UU_OPEN64] = {"__open64", NULL},
    [SES_CALL_OPENAT] = {"openat", NULL},
    [SES_CALL_OPENAT64] = {"openat64", NULL},
    [SES_CALL_CREAT] = {"creat", NULL},
    [SES_CALL_CREAT64] = {"creat64", NULL},
    [SES_CALL_FOPEN] = {"fopen", NULL},
    [SES_CALL_FOPEN64] = {"fopen64", NULL},
    [SES_CALL_IO_FOPEN] = {"_IO_fopen", NULL},
    [SES_CALL_FREOPEN] = {"freopen", NULL},
    [SES_CALL_FREOPEN64] = {"freopen64", NULL},
    [SES_CALL_MKSTEMP] = {"mkstemp", NULL},
    [SES_CALL_MKSTEMP64] = {"mkstemp64", NULL},
    [SES_CALL_MKOSTEMP] = {"mkostemp", NULL},
    [SES_CALL_MKOSTEMP64] = {"mkostemp64", NULL},
    [SES_CALL_MKSTEMPS] = {"mkstemps", NULL},
    [SES_CALL_MKSTEMPS64] = {"mkstemps64", NULL},
    [SES_CALL_MKOSTEMPS] = {"mkostemps", NULL},
    [SES_CALL_MKOSTEMPS64] = {"mkostemps64", NULL},
    [SES_CALL_MKNOD] = {"mknod", NULL},
    [SES_CALL_MKNODAT] = {"mknodat", NULL},
    [SES_CALL_UU_XMKNOD] = {"__xmknod", NULL},
    [SES_CALL_UU_XMKNODAT] = {"__xmknodat", NULL},
};

/* Set while this thread is inside dlsym(), whose allocations may come back to us. */
static _Thread_local volatile int looking_up;

static __attribute__((noinline)) ses_function look_up(enum ses_call call) {
  if (looking_up)
    return NULL;
  int saved = errno;
  looking_up = 1;
  ses_function found = NULL;
  /* The one way ISO C leaves from an object pointer to a function pointer. */
  *(void **)(&found) = dlsym(RTLD_NEXT, table[call].name);
  looking_up = 0;
  errno = saved;
  atomic_store_explicit(&table[call].function, found, memory_order_release);
  return found;
}

ses_function ses_real(enum ses_call call) {
  ses_function known = atomic_load_explicit(&table[call].function, memory_order_acquire);
  return known ? known : look_up(call);
}

/* The usual ones while there is one thread: later a look-up could wait for somebody else's
 * dlopen(). Not all: each costs every program that starts a few hundred nanoseconds. */
__attribute__((constructor)) static void look_up_usual(void) {
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
