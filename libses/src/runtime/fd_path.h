/*
 * A name for the file behind a descriptor of this thread.
 */
#ifndef SES_FD_PATH_H
#define SES_FD_PATH_H

#include <string.h>

#include "runtime/digits.h"

#define SES_FD_PATH_MAX 32 /* bytes */

/* "/proc/thread-self/fd/N": also where a thread has descriptors of its own. */
static inline void ses_fd_path(int fd, char into[SES_FD_PATH_MAX]) {
  static const char prefix[] = "/proc/thread-self/fd/";
  char digits[SES_DIGITS_MAX];
  char *end = digits + sizeof digits;
  char *first = ses_digits(end, (unsigned)fd, 1);
  memcpy(into, prefix, sizeof prefix - 1);
  memcpy(into + sizeof prefix - 1, first, (size_t)(end - first));
  into[sizeof prefix - 1 + (size_t)(end - first)] = '\0';
}

#endif /* SES_FD_PATH_H */
