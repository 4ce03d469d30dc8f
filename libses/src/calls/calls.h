/*
 * The calls the preload library wraps, and the real ones behind them.
 */
#ifndef SES_CALLS_H
#define SES_CALLS_H

#include <sys/types.h>

/* Macros in the headers of musl, as of systems that have one name for both; programs that were
 * built for glibc call functions. */
#undef creat64
#undef fopen64
#undef freopen64
#undef mkostemp64
#undef mkostemps64
#undef mkstemp64
#undef mkstemps64
#undef open64
#undef openat64

#define SES_EXPORT __attribute__((visibility("default")))

/* One per wrapped name; the order is that of the table in real.c. */
enum ses_call {
  SES_CALL_OPEN,
  SES_CALL_OPEN64,
  SES_CALL_UU_OPEN,
  SES_CALL_UU_OPEN64,
  SES_CALL_OPENAT,
  SES_CALL_OPENAT64,
  SES_CALL_CREAT,
  SES_CALL_CREAT64,
  SES_CALL_FOPEN,
  SES_CALL_FOPEN64,
  SES_CALL_IO_FOPEN,
  SES_CALL_FREOPEN,
  SES_CALL_FREOPEN64,
  SES_CALL_MKSTEMP,
  SES_CALL_MKSTEMP64,
  SES_CALL_MKOSTEMP,
  SES_CALL_MKOSTEMP64,
  SES_CALL_MKSTEMPS,
  SES_CALL_MKSTEMPS64,
  SES_CALL_MKOSTEMPS,
  SES_CALL_MKOSTEMPS64,
  SES_CALL_MKNOD,
  SES_CALL_MKNODAT,
  SES_CALL_UU_XMKNOD,
  SES_CALL_UU_XMKNODAT,
  SES_CALL_SPAWN,
  SES_CALL_SPAWNP,
  SES_CALL_ADDOPEN,
  SES_CALL_SETXATTR,
  SES_CALL_LSETXATTR,
  SES_CALL_FSETXATTR,
  SES_CALLS
};

typedef void (*ses_function)(void);

/*
 * The next definition of CALL after this library's (so that other interposers keep
 * their turn), or NULL: there is none, or it is being looked up by this very
 * thread (a memory allocator that opens a file).  Valid before our
 * constructor has run and after everything has been torn down.
 */
ses_function ses_real(enum ses_call call);

/* As ses_place_open(); before it the thread ends here if it has been cancelled, as in the real
 * call: what is placed never gets that far. */
int ses_place_or_cancel(int dirfd, const char *path, int flags, mode_t mode);

/* openat() by system call, with errno set as the C library does: for want of a real function. */
int ses_raw_openat(int dirfd, const char *path, int flags, mode_t mode);

/* The placed FD if there is room for another descriptor beside it, which the real call needs; else
 * it is closed, and negative. */
int ses_keep_if_room(int fd);

/* The real call has failed before it would have created anything: the placed file of FD, which is
 * empty and the call's own as long as PATH still leads to it, goes again. */
void ses_take_back(int fd, const char *path);

#endif /* SES_CALLS_H */
