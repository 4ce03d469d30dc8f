#include "settings/system_tools.h"

#include <string.h>

/* In order.  Of coreutils, procps, grep and hostname. */
static const char names[][12] = {
    "[",     "arch",     "basename", "cat",       "chgrp",     "chmod",     "chown",    "cksum",
    "comm",  "cut",      "date",     "df",        "dir",       "dircolors", "dirname",  "du",
    "echo",  "egrep",    "env",      "expand",    "expr",      "factor",    "false",    "fgrep",
    "fmt",   "fold",     "grep",     "groups",    "head",      "hostid",    "hostname", "id",
    "join",  "kill",     "ln",       "logname",   "ls",        "md5sum",    "mkdir",    "nice",
    "nl",    "nproc",    "numfmt",   "od",        "paste",     "pathchk",   "pgrep",    "pinky",
    "pkill", "printenv", "printf",   "ps",        "pwd",       "readlink",  "realpath", "rm",
    "rmdir", "seq",      "sha1sum",  "sha256sum", "sha512sum", "sleep",     "stat",     "stdbuf",
    "stty",  "sum",      "sync",     "tail",      "test",      "timeout",   "tr",       "true",
    "tsort", "tty",      "uname",    "unexpand",  "unlink",    "uptime",    "users",    "vdir",
    "wc",    "who",      "whoami",   "yes",
};

static const char *after(const char *path, const char *directory) {
  size_t length = strlen(directory);
  return strncmp(path, directory, length) == 0 ? path + length : NULL;
}

bool ses_is_system_tool(const char *path) {
  const char *name = path ? after(path, "/usr/bin/") : NULL;
  if (path && !name)
    name = after(path, "/bin/");
  if (!name)
    return false;
  size_t low = 0;
  size_t high = sizeof names / sizeof names[0];
  while (low < high) {
    size_t middle = (low + high) / 2;
    int order = strcmp(name, names[middle]);
    if (order == 0)
      return true;
    if (order < 0)
      high = middle;
    else
      low = middle + 1;
  }
  return false;
}
