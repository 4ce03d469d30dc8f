/*
 * Raw system calls: no errno, no cancellation point, nothing another library
 * could have interposed.  Each returns what the kernel returned: a value, or
 * -errno.
 *
 * Does NOT follow the C library's behaviour in anything else: no retry on
 * EINTR, no large-file switch.  64-bit Linux only.
 */
#ifndef SES_SYS_H
#define SES_SYS_H

#include <errno.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#ifndef STATX_BASIC_STATS /* musl before 1.2.5 */
#include <linux/stat.h>
#endif

_Static_assert(sizeof(long) == 8, "the layouts passed to the kernel here are the 64-bit ones");

static inline long ses_sys6(long number, long a, long b, long c, long d, long e, long f) {
#if defined(__x86_64__)
  long result;
  register long r10 __asm__("r10") = d;
  register long r8 __asm__("r8") = e;
  register long r9 __asm__("r9") = f;
  __asm__ volatile("syscall"
                   : "=a"(result)
                   : "a"(number), "D"(a), "S"(b), "d"(c), "r"(r10), "r"(r8), "r"(r9)
                   : "rcx", "r11", "memory");
  return result;
#elif defined(__aarch64__)
  register long x8 __asm__("x8") = number;
  register long x0 __asm__("x0") = a;
  register long x1 __asm__("x1") = b;
  register long x2 __asm__("x2") = c;
  register long x3 __asm__("x3") = d;
  register long x4 __asm__("x4") = e;
  register long x5 __asm__("x5") = f;
  __asm__ volatile("svc 0"
                   : "+r"(x0)
                   : "r"(x8), "r"(x1), "r"(x2), "r"(x3), "r"(x4), "r"(x5)
                   : "memory", "cc");
  return x0;
#else
  int saved = errno;
  long result = syscall(number, a, b, c, d, e, f);
  if (result == -1)
    result = -errno;
  errno = saved;
  return result;
#endif
}

static inline long ses_sys5(long number, long a, long b, long c, long d, long e) {
  return ses_sys6(number, a, b, c, d, e, 0);
}

static inline long ses_sys4(long number, long a, long b, long c, long d) {
  return ses_sys6(number, a, b, c, d, 0, 0);
}

static inline long ses_sys3(long number, long a, long b, long c) {
  return ses_sys6(number, a, b, c, 0, 0, 0);
}

static inline long ses_sys2(long number, long a, long b) {
  return ses_sys6(number, a, b, 0, 0, 0, 0);
}

static inline long ses_sys0(long number) { return ses_sys6(number, 0, 0, 0, 0, 0, 0); }

/* Addresses travel to the kernel as integers; nothing is read here, whatever the kernel does. */
__attribute__((access(none, 1))) static inline long ses_address(const void *pointer) {
  return (long)(intptr_t)pointer;
}

static inline int ses_sys_openat(int dirfd, const char *path, int flags, unsigned mode) {
  return (int)ses_sys4(SYS_openat, dirfd, ses_address(path), flags, (long)mode);
}

static inline int ses_sys_close(int fd) { return (int)ses_sys2(SYS_close, fd, 0); }

static inline int ses_sys_statx(int dirfd, const char *path, int flags, unsigned mask,
                                struct statx *into) {
  return (int)ses_sys5(SYS_statx, dirfd, ses_address(path), flags, (long)mask, ses_address(into));
}

#endif /* SES_SYS_H */
