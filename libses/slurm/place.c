#include "place.h"

#include <errno.h>
#include <fcntl.h>
#include <pwd.h>
#include <slurm/slurm.h>
#include <slurm/spank.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include "command.h"

#define MOST 64 /* directories, as ses place has it */
#define NOBODY "65534"

bool ses_place_is_set(const struct ses_place_settings *settings) {
  return !strchr(settings->among, '/');
}

/* Several nodes may be one machine, as in tests. */
static void record_of(const struct ses_place_settings *settings, uint32_t job,
                      char path[PATH_MAX]) {
  const char *node = getenv("SLURMD_NODENAME");
  snprintf(path, PATH_MAX, "%s/.%u.place.%s", settings->records, job, node ? node : "");
}

/* Runs ARGUMENTS; what it prints, which is a line, into LINE.  False: it failed, or time was up. */
static bool run(char *const arguments[], char line[PATH_MAX], int timeout_s) {
  int status = 0;
  return ses_command_read(arguments, false, timeout_s * 1000, line, PATH_MAX, &status) == 0 &&
         status == 0;
}

static bool write_record(const char *name, const char *path, uid_t owner) {
  int fd = open(name, O_WRONLY | O_CREAT | O_TRUNC | O_NOFOLLOW | O_CLOEXEC, 0644);
  bool is_written = fd >= 0 && fchmod(fd, 0644) == 0 && fchown(fd, owner, (gid_t)-1) == 0 &&
                    write(fd, path, strlen(path)) == (ssize_t)strlen(path);
  if (fd >= 0)
    close(fd);
  return is_written;
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

/* Into PATH the directory that `ses place` makes for UID. */
static bool ask(const struct ses_place_settings *settings, uint32_t job, uid_t uid,
                const char *size, char path[PATH_MAX], int timeout_s) {
  char among[PATH_MAX], name[32], owner[32], group[32], number[16];
  /* In a step Slurm has changed the effective user only. */
  char *arguments[MOST + 20] = {"/usr/bin/setpriv", owner, group, "--keep-groups"};
  int count = geteuid() == 0 ? 0 : 4;
  char *const words[] = {(char *)settings->command, "place", "--for", "job", "--mkdir", name};
  memcpy(arguments + count, words, sizeof words);
  count += sizeof words / sizeof *words;
  snprintf(among, sizeof among, "%s", settings->among);
  snprintf(name, sizeof name, "user-%u-XXXXXX", uid); /* sizes of earlier ones are of this user */
  snprintf(owner, sizeof owner, geteuid() == 0 ? "%u" : "--reuid=%u", uid);
  snprintf(group, sizeof group, "--regid=%u", getegid());
  snprintf(number, sizeof number, "%u", job);
  if (size && *size) {
    arguments[count++] = "--size";
    arguments[count++] = (char *)size;
  }
  if (settings->ledger) {
    arguments[count++] = "--ledger";
    arguments[count++] = (char *)settings->ledger;
  }
  if (geteuid() == 0) {
    arguments[count++] = "--user";
    arguments[count++] = owner;
  }
  arguments[count++] = ses_place_is_set(settings) ? "--on" : "--among";
  char *rest = among;
  for (char *argument; (argument = strsep(&rest, ":")) != NULL && count < MOST + 19;)
    arguments[count++] = argument;
  const struct passwd *user = getpwuid(geteuid());
  setenv("SLURM_JOB_ID", number, 1);
  if (user) {
    setenv("HOME", user->pw_dir, 1);
    setenv("LOGNAME", user->pw_name, 1);
  }
  return run(arguments, path, timeout_s);
}

bool ses_place_make(const struct ses_place_settings *settings, uint32_t job, uid_t uid,
                    const char *size, int timeout_s) {
  char path[PATH_MAX] = "", record[PATH_MAX];
  record_of(settings, job, record);
  if (!ses_place_is_set(settings) && !ask(settings, job, uid, size, path, timeout_s))
    return false;
  if (write_record(record, path, ses_place_is_set(settings) ? uid : 0))
    return true;
  slurm_error("%s of job %u cannot be written to %s: %s", path, job, record, strerror(errno));
  if (*path)
    release(settings, uid, path, timeout_s);
  return false;
}

bool ses_place_of(const struct ses_place_settings *settings, uint32_t job, const char *size,
                  char path[PATH_MAX], int timeout_s) {
  char record[PATH_MAX];
  bool asks = ses_place_is_set(settings) && timeout_s > 0;
  record_of(settings, job, record);
  int fd = open(record, (asks ? O_RDWR : O_RDONLY) | O_NOFOLLOW | O_CLOEXEC);
  /* The other steps of the job wait for the first. */
  for (int i = 0; asks && fd >= 0 && flock(fd, LOCK_EX | LOCK_NB) != 0 && i < 20 * timeout_s; i++)
    usleep(50000);
  ssize_t length = fd < 0 ? -1 : read(fd, path, PATH_MAX - 1);
  path[length > 0 ? length : 0] = '\0';
  if (asks && length == 0 &&
      (!ask(settings, job, geteuid(), size, path, timeout_s) || write(fd, path, strlen(path)) <= 0))
    *path = '\0';
  if (fd >= 0)
    close(fd);
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
  struct stat status;
  record_of(settings, job, record);
  bool is_given = ses_place_of(settings, job, NULL, path, 0);
  unlink(record);
  if (!is_given)
    return;
  release(settings, uid, path, timeout_s);
  snprintf(owner, sizeof owner, "--reuid=%u", uid);
  run(empty, said, timeout_s);
  if (lstat(path, &status) == 0 && (ses_place_is_set(settings) || rmdir(path) != 0))
    slurm_error("%s of job %u cannot be removed", path, job);
}
