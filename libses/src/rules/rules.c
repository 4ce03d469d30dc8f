#include "rules/rules.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>

#include "request/need.h"
#include "rules/pattern.h"
#include "runtime/digits.h"
#include "runtime/sys.h"
#include "segments/published.h"
#include "settings/settings.h"

static const char *or_nothing(const char *list) { return list ? list : ""; }

/* Is PATH not "/a/b" but with parts that lead nowhere, or (BACK) up? */
static bool has_dots(const char *path, size_t length, bool *back) {
  bool dots = false;
  *back = false;
  for (size_t begin = 0, end = 0; begin <= length; begin = end + 1) {
    for (end = begin; end < length && path[end] != '/';)
      end++;
    size_t part = end - begin;
    dots |= (part == 0 && begin > 0 && end < length) || (part == 1 && path[begin] == '.');
    *back |= part == 2 && path[begin] == '.' && path[begin + 1] == '.';
  }
  return dots || *back;
}

/* Add the parts of PATH to ROOM, which holds USED bytes of a path without a slash at its end. */
static bool add_parts(char *room, size_t size, size_t used, const char *path, size_t length) {
  for (size_t begin = 0, end = 0; begin < length; begin = end + 1) {
    for (end = begin; end < length && path[end] != '/';)
      end++;
    size_t part = end - begin;
    if (part == 0 || (part == 1 && path[begin] == '.'))
      continue;
    if (used + part + 2 > size)
      return false;
    room[used++] = '/';
    memcpy(room + used, path + begin, part);
    used += part;
  }
  room[used] = '\0';
  return true;
}

/* The length of the path, without a slash at its end, that the kernel has for the directory of
 * PATH; 0: it is not known.  ROOM holds a copy of the way meanwhile. */
static __attribute__((noinline)) size_t resolve(int dirfd, const char *path, size_t parent_length,
                                                char *room, size_t size) {
  if (parent_length + 2 > size)
    return 0;
  memcpy(room, path, parent_length);
  memcpy(room + parent_length, parent_length ? "" : ".", parent_length ? 1 : 2);
  int fd = ses_sys_openat(dirfd, room, O_PATH | O_DIRECTORY | O_CLOEXEC, 0);
  if (fd < 0)
    return 0;
  char link[sizeof "/proc/self/fd/" + SES_DIGITS_MAX] = "";
  char *digits = ses_digits(link + sizeof link - 1, (unsigned long)fd, 1);
  static const char before[] = "/proc/self/fd/";
  digits -= sizeof before - 1;
  memcpy(digits, before, sizeof before - 1);
  long length =
      ses_sys4(SYS_readlinkat, AT_FDCWD, ses_address(digits), ses_address(room), (long)size);
  ses_sys_close(fd);
  return length > 0 && (size_t)length < size && *room == '/' ? (size_t)length : 0;
}

/* The whole path into ROOM, or PATH itself if it is one; NULL: it is unknown. */
static const char *whole(int dirfd, const char *path, size_t length, size_t parent_length,
                         char *room, size_t size) {
  bool back = false;
  bool dots = has_dots(path, length, &back);
  if (*path == '/' && !dots)
    return path;
  if (*path == '/' && !back)
    return add_parts(room, size, 0, path, length) ? room : NULL;
  size_t used = 0;
  if (dirfd == AT_FDCWD && !back) {
    long bytes = ses_sys2(SYS_getcwd, ses_address(room), (long)size);
    if (bytes < 2 || *room != '/') /* "(unreachable)..." */
      return NULL;
    used = (size_t)bytes - 1;
    if (used == 1)
      used = 0;
    return add_parts(room, size, used, path, length) ? room : NULL;
  }
  used = resolve(dirfd, path, parent_length, room, size);
  if (used == 0)
    return NULL;
  if (used == 1)
    used = 0;
  return add_parts(room, size, used, path + parent_length, length - parent_length) ? room : NULL;
}

/* By one source of rules. */
static bool allows(const char *exclude, const char *include, const char *full, const char *name) {
  return !ses_pattern_fits(exclude, full, name) &&
         (!*include || ses_pattern_fits(include, full, name));
}

static bool needs_path(const char *exclude, const char *include) {
  return ses_pattern_needs_path(exclude) || ses_pattern_needs_path(include);
}

bool ses_rules_allow(const struct ses_need *need, int dirfd, const char *path, size_t length,
                     size_t parent_length, char *room, size_t size) {
  const struct ses_settings *settings = ses_settings();
  const struct ses_rules *site = ses_rules_segment();
  if (!site && !settings->exclude && !settings->include)
    return true;
  const char *program = need && need->program ? need->program : settings->program;
  if (site && !settings->is_named && ses_pattern_fits(site->programs, "", program))
    return false;
  const char *exclude = or_nothing(settings->exclude);
  const char *include = or_nothing(settings->include);
  const char *name = path + parent_length;
  const char *full = "";
  if (needs_path(exclude, include) || (site && needs_path(site->exclude, site->include)))
    full = need && need->whole ? whole(AT_FDCWD, need->whole, strlen(need->whole), 0, room, size)
                               : whole(dirfd, path, length, parent_length, room, size);
  return full && allows(exclude, include, full, name) &&
         (!site || allows(site->exclude, site->include, full, name));
}
