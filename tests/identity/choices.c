#define _GNU_SOURCE
#include "choices.h"

#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#define LONGEST 256

static uint64_t state;
static const char *top;
static char long_name[LONGEST + 1];
static char *edge; /* the end of a readable page; beyond, nothing can be read */

bool choose(uint64_t seed, const char *directory) {
  size_t page = (size_t)sysconf(_SC_PAGESIZE);
  char *pages = mmap(NULL, 2 * page, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (pages == MAP_FAILED || mprotect(pages + page, page, PROT_NONE) != 0)
    return false;
  state = seed * UINT64_C(0x9e3779b97f4a7c15) + 1;
  top = directory;
  edge = pages + page;
  memset(long_name, 'n', LONGEST);
  return true;
}

/* xorshift64*: the same numbers everywhere. */
unsigned pick(unsigned bound) {
  state ^= state >> 12;
  state ^= state << 25;
  state ^= state >> 27;
  return (unsigned)((state * UINT64_C(2685821657736338717)) >> 33) % bound;
}

const char *any_name(void) {
  /* clang-format off */
  static const char *const names[] = {
      "a", "b", "c", "directory/a", "directory/b", "existing", "existing", "dangling",
      "to-existing", "to-directory", "loop", "to-directory/c", "loop/a", "missing/a",
      "existing/a", "read-only/a", "handed-on/a", "read-only/existing", "directory", ".", "..",
      "", "a/", "directory/", "directory/.", "./b", "directory//", "directory/../b", "//",
      "fifo/a", "unwritable", "private/a", "dangling-far", "c/a", "d", "e",
  };
  /* clang-format on */
  static const char *const folders[] = {"", "", "directory/", "handed-on/", "to-directory/"};
  static char fresh[2][32]; /* two: a rename needs as many */
  static unsigned turn;
  unsigned kind = pick(48);
  char *text = fresh[turn++ % 2];
  const char *folder = ANY(folders);
  snprintf(text, sizeof fresh[0], "%sn%u", folder, pick(20));
  if (kind == 0)
    return long_name;
  return kind == 1 ? long_name + 1 : kind < 26 ? text : ANY(names);
}

/* A path: relative, absolute, at the very end of what can be read, or no address at all. */
const char *any_path(char *space) {
  const char *name = any_name();
  size_t length = strlen(name) + 1;
  switch (pick(48)) {
  case 0:
    return NULL;
  case 1:
    return (const char *)(uintptr_t)(pick(2) ? 8 : UINTPTR_MAX - 100);
  case 2:
    memset(edge - 64, 'x', 64); /* runs into what cannot be read */
    return edge - 1 - pick(60);
  case 3:
  case 4:
    memcpy(edge - length, name, length);
    return edge - length;
  case 5:
  case 6:
  case 7:
    snprintf(space, PATH_SPACE, "%s/%s", top, name);
    return space;
  case 8:
    if (pick(8) == 0) {
      memset(space, '/', PATH_MAX + 10);
      space[PATH_MAX - 3 + (int)pick(6)] = '\0';
      return space;
    }
    /* fall through */
  default:
    return name;
  }
}

int any_flags(void) {
  static const int access[] = {O_RDONLY, O_WRONLY, O_WRONLY, O_RDWR, O_RDWR, O_ACCMODE};
  static const int more[] = {O_EXCL,   O_TRUNC,   O_APPEND, O_CLOEXEC,  O_NOFOLLOW,  O_SYNC,
                             O_DSYNC,  O_NOCTTY,  O_ASYNC,  O_NONBLOCK, O_DIRECTORY, O_NOATIME,
                             O_DIRECT, O_TMPFILE, O_PATH,   1 << 30,    O_EXCL,      O_TRUNC};
  if (pick(2))
    return O_CREAT | (pick(2) ? O_WRONLY : O_RDWR) | (pick(2) ? O_TRUNC : 0);
  int flags = ANY(access);
  if (pick(8))
    flags |= O_CREAT;
  for (unsigned i = pick(4); i > 0; i--)
    flags |= ANY(more);
  return flags;
}

mode_t any_mode(void) {
  static const mode_t modes[] = {0644,    0600,  0666,  0777,  0640, 0444,    0200, 0,
                                 0100644, 04755, 02755, 01777, 0700, 0177600, 0660, 0604};
  if (pick(2))
    return pick(2) ? 0644 : 0600;
  return pick(6) ? ANY(modes) : (mode_t)pick(010000);
}

const char *any_stream_mode(void) {
  static const char *const modes[] = {
      "w",   "w+", "a",           "a+", "wx", "wxe", "r",  "r+",  "wb",       "we",  "w+x", "ab",
      "wbe", "z",  "w,ccs=UTF-8", "wc", "wm", "",    "ax", "a+e", "wwwwwwwe", "w++", "rx"};
  return ANY(modes);
}
