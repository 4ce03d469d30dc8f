#include "place.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <slurm/slurm.h>
#include <slurm/spank.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "command.h"
#include "runtime/clock.h"

#define MOST 64 /* directories, as ses place has it */
#define NOBODY "65534"

/* Several nodes may be one machine, as in tests. */
static void record_of(const struct ses_place_settings *settings, uint32_t job,
                      char path[PATH_MAX]) {
  const char *node = getenv("SLURMD_NODENAME");
  snprintf(path, PATH_MAX, "%s/.%u.place.%s", settings->records, job, node ? node : "");
}

/* Runs ARGUMENTS; what it prints, of which nothing but a line is of use, into LINE.  False: it
 * failed, or time was up. */
static bool run(char *const arguments[], char line[PATH_MAX], int timeout_s) {
  uint64_t end = ses_clock_ms() + (uint64_t)timeout_s * 1000, now = 0;
  size_t length = 0;
  ssize_t got = 1;
  pid_t child = 0;
  int fd = -1;
  if (ses_command_start(arguments, false, &child, &fd) != 0)
    return false;
  while (got > 0 && length < PATH_MAX - 1 && (now = ses_clock_ms()) < end) {
    struct pollfd watched = {.fd = fd, .events = POLLIN};
    if (poll(&watched, 1, (int)(end - now)) > 0 &&
        (got = read(fd, line + length, PATH_MAX - 1 - length)) > 0)
      length += (size_t)got;
  }
  if (got != 0)
    kill(child, SIGKILL);
  close(fd);
  line[length] = '\0';
  line[strcspn(line, "\n")] = '\0';
  return ses_command_status(child) == 0 && got == 0;
}

static bool write_record(const char *name, const char *path) {
  int fd = open(name, O_WRONLY | O_CREAT | O_TRUNC | O_NOFOLLOW | O_CLOEXEC, 0644);
  bool is_written =
      fd >= 0 && fchmod(fd, 0644) == 0 && write(fd, path, strlen(path)) == (ssize_t)strlen(path);
  if (fd >= 0)
    close(fd);
  return is_written;
}

/* A set of directories, of which the user could have the command name any. */
static bool is_set(const struct ses_place_settings *settings) {
  return !strchr(settings->among, '/');
}

static void release(const struct ses_place_settings *settings, uid_t uid, char *path,
                    int timeout_s) {
  char said[PATH_MAX], owner[16];
  char *arguments[8] = {(char *)settings->command, "release", path, "--user", owner};
  snprintf(owner, sizeof owner, "%u", uid);
  if (settings->ledger) {
    arguments[5] = "--ledger";
    arguments[6] = (char *)settings->ledger;
  }
  run(arguments, said, timeout_s);
}

bool ses_place_make(const struct ses_place_settings *settings, uint32_t job, uid_t uid,
                    const char *size, int timeout_s) {
  char among[PATH_MAX], name[32], owner[16], number[16], path[PATH_MAX], record[PATH_MAX];
  char *arguments[MOST + 16] = {
      (char *)settings->command, "place", "--for", "job", "--user", owner, "--mkdir", name};
  int count = 8;
  snprintf(among, sizeof among, "%s", settings->among);
  snprintf(name, sizeof name, "user-%u-XXXXXX", uid); /* sizes of earlier ones are of this user */
  snprintf(owner, sizeof owner, "%u", uid);
  snprintf(number, sizeof number, "%u", job);
  if (size && *size) {
    arguments[count++] = "--size";
    arguments[count++] = (char *)size;
  }
  if (settings->ledger) {
    arguments[count++] = "--ledger";
    arguments[count++] = (char *)settings->ledger;
  }
  arguments[count++] = is_set(settings) ? "--on" : "--among";
  char *rest = among;
  for (char *one; (one = strsep(&rest, ":")) != NULL && count < MOST + 15;)
    arguments[count++] = one;
  setenv("SLURM_JOB_ID", number, 1);
  if (!run(arguments, path, timeout_s))
    return false;
  record_of(settings, job, record);
  if (write_record(record, path))
    return true;
  slurm_error("%s of job %u cannot be written to %s: %s", path, job, record, strerror(errno));
  release(settings, uid, path, timeout_s);
  return false;
}

bool ses_place_of(const struct ses_place_settings *settings, uint32_t job, char path[PATH_MAX]) {
  char record[PATH_MAX];
  record_of(settings, job, record);
  int fd = open(record, O_RDONLY | O_NOFOLLOW | O_CLOEXEC);
  ssize_t length = fd < 0 ? -1 : read(fd, path, PATH_MAX - 1);
  if (fd >= 0)
    close(fd);
  path[length > 0 ? length : 0] = '\0';
  return *path == '/';
}

void ses_place_remove(const struct ses_place_settings *settings, uint32_t job, uid_t uid,
                      int timeout_s) {
  char path[PATH_MAX], record[PATH_MAX], owner[32], said[PATH_MAX];
  char *empty[] = {"/usr/bin/setpriv",
                   owner,
                   "--regid=" NOBODY,
                   "--clear-groups",
                   "/usr/bin/find",
                   path,
                   "-xdev",
                   "-delete",
                   NULL};
  struct stat found;
  if (!ses_place_of(settings, job, path))
    return;
  release(settings, uid, path, timeout_s);
  snprintf(owner, sizeof owner, "--reuid=%u", uid);
  run(empty, said, timeout_s);
  if (lstat(path, &found) == 0 && (is_set(settings) || rmdir(path) != 0))
    slurm_error("%s of job %u cannot be removed", path, job);
  record_of(settings, job, record);
  unlink(record);
}
