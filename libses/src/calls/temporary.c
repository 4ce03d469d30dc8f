/*
 * mkstemp() and its family.  The name is unknown before the call, so on a
 * managed storage system the names are tried here; everywhere else, and
 * whenever a placement does not come about, the template is put back and the
 * real call makes its own.
 */
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "calls/calls.h"
#include "place/place.h"
#include "runtime/names.h"
#include "runtime/sys.h"

typedef int (*mkstemp_function)(char *pattern);
typedef int (*mkostemp_function)(char *pattern, int flags);
typedef int (*mkstemps_function)(char *pattern, int suffix_length);
typedef int (*mkostemps_function)(char *pattern, int suffix_length, int flags);

#define LETTERS 6u
#define TRIES 16
#define TEMPORARY_MODE 0600

static const char marks[] = "XXXXXX";

/* Six letters nobody can foresee; the clock stands in when the kernel has no random numbers yet. */
static __attribute__((noinline)) void fill_letters(char *letters) {
  static const char alphabet[] = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789";
  uint64_t value = 0;
  if (ses_sys3(SYS_getrandom, ses_address(&value), sizeof value, 1 /* GRND_NONBLOCK */) !=
      sizeof value) {
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    value = ((uint64_t)now.tv_nsec << 32 ^ (uint64_t)now.tv_sec ^ (uint64_t)(uintptr_t)&value) *
            UINT64_C(2862933555777941757);
  }
  for (unsigned i = 0; i < LETTERS; i++, value /= sizeof alphabet - 1)
    letters[i] = alphabet[value % (sizeof alphabet - 1)];
}

/* A descriptor, or SES_PLAIN with PATTERN as it was. */
static int place_temporary(char *pattern, int suffix_length, int flags) {
  size_t length = strlen(pattern);
  if (suffix_length < 0 || length < LETTERS + (size_t)suffix_length)
    return SES_PLAIN;
  char *letters = pattern + length - (size_t)suffix_length - LETTERS;
  if (memcmp(letters, marks, LETTERS) != 0)
    return SES_PLAIN;
  flags = (flags & ~O_ACCMODE) | O_RDWR | O_CREAT | O_EXCL;
  int fd = SES_TAKEN;
  ses_test_cancel(); /* as in ses_place_or_cancel() */
  for (int i = 0; i < TRIES && (fd == SES_TAKEN || fd == SES_EXISTS); i++) {
    fill_letters(letters);
    fd = ses_place_open(AT_FDCWD, pattern, flags, TEMPORARY_MODE, NULL, NULL);
    if (fd >= 0)
      return fd;
  }
  memcpy(letters, marks, LETTERS);
  return SES_PLAIN;
}

static int unavailable(void) {
  errno = ENOSYS;
  return -1;
}

static int mkstemp_through(enum ses_call call, char *pattern) {
  int fd = place_temporary(pattern, 0, 0);
  mkstemp_function real = (mkstemp_function)ses_real(call);
  return fd >= 0 ? fd : real ? real(pattern) : unavailable();
}

static int mkostemp_through(enum ses_call call, char *pattern, int flags) {
  int fd = place_temporary(pattern, 0, flags);
  mkostemp_function real = (mkostemp_function)ses_real(call);
  return fd >= 0 ? fd : real ? real(pattern, flags) : unavailable();
}

static int mkstemps_through(enum ses_call call, char *pattern, int suffix_length) {
  int fd = place_temporary(pattern, suffix_length, 0);
  mkstemps_function real = (mkstemps_function)ses_real(call);
  return fd >= 0 ? fd : real ? real(pattern, suffix_length) : unavailable();
}

static int mkostemps_through(enum ses_call call, char *pattern, int suffix_length, int flags) {
  int fd = place_temporary(pattern, suffix_length, flags);
  mkostemps_function real = (mkostemps_function)ses_real(call);
  return fd >= 0 ? fd : real ? real(pattern, suffix_length, flags) : unavailable();
}

SES_EXPORT int mkstemp(char *pattern) { return mkstemp_through(SES_CALL_MKSTEMP, pattern); }

SES_EXPORT int mkstemp64(char *pattern) { return mkstemp_through(SES_CALL_MKSTEMP64, pattern); }

SES_EXPORT int mkostemp(char *pattern, int flags) {
  return mkostemp_through(SES_CALL_MKOSTEMP, pattern, flags);
}

SES_EXPORT int mkostemp64(char *pattern, int flags) {
  return mkostemp_through(SES_CALL_MKOSTEMP64, pattern, flags);
}

SES_EXPORT int mkstemps(char *pattern, int suffix_length) {
  return mkstemps_through(SES_CALL_MKSTEMPS, pattern, suffix_length);
}

SES_EXPORT int mkstemps64(char *pattern, int suffix_length) {
  return mkstemps_through(SES_CALL_MKSTEMPS64, pattern, suffix_length);
}

SES_EXPORT int mkostemps(char *pattern, int suffix_length, int flags) {
  return mkostemps_through(SES_CALL_MKOSTEMPS, pattern, suffix_length, flags);
}

SES_EXPORT int mkostemps64(char *pattern, int suffix_length, int flags) {
  return mkostemps_through(SES_CALL_MKOSTEMPS64, pattern, suffix_length, flags);
}
