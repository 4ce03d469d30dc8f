/*
 * ses_place_directory: a directory that the service gives, by the command `ses`, which knows the
 * service, its proof and the caller's token.
 *
 * Does NOT speak HTTP itself, and remembers nothing.
 */
#include <errno.h>
#include <locale.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "arguments.h"
#include "command.h"
#include "policy.h"

_Static_assert(sizeof(ses_place) == 4352, "the size of a place is part of the ABI");

/* The errno for how the command ended; 0: well, or it was reaped by a handler of the program's. */
static int error_of(pid_t child) {
  static const int errors[] = {0, ENOSPC, EINVAL, EHOSTUNREACH, EACCES, ENOENT};
  int status = ses_command_status(child);
  if (status < 0)
    return 0;
  return status < (int)(sizeof errors / sizeof errors[0]) ? errors[status] : EIO;
}

/* "ID ELEMENT DIRECTORY" and a newline, all of it read from FD, which is closed.  1, or 0. */
static int read_place(int fd, ses_place *place) {
  char line[sizeof *place + 1];
  size_t length = 0;
  ssize_t more;
  while (length < sizeof line - 1 &&
         ((more = read(fd, line + length, sizeof line - 1 - length)) > 0 ||
          (more < 0 && errno == EINTR)))
    length += more > 0 ? (size_t)more : 0;
  close(fd);
  line[length] = '\0';
  char *element = strchr(line, ' ');
  char *directory = element ? strchr(element + 1, ' ') : NULL;
  if (!directory || line[length - 1] != '\n')
    return 0;
  line[length - 1] = *element++ = *directory++ = '\0';
  memset(place, 0, sizeof *place);
  if (strlen(line) >= sizeof place->id || strlen(element) >= sizeof place->element ||
      strlen(directory) >= sizeof place->directory)
    return 0;
  strcpy(place->id, line);
  strcpy(place->element, element);
  strcpy(place->directory, directory);
  return 1;
}

/* -1 with errno, or 0. */
static int run(struct ses_command *command, ses_place *place) {
  pid_t child = 0;
  int fd = -1;
  int error = ses_command_start(command->arguments, true, &child, &fd);
  if (error != 0) {
    errno = error;
    return -1;
  }
  ses_place other; /* what `ses release` prints is no place */
  int understood = read_place(fd, place ? place : &other) || !place;
  error = error_of(child);
  if (error == 0 && understood)
    return 0;
  errno = error ? error : EPROTO;
  return -1;
}

static int ask(const char *system, const ses_policy *policy, const char *name, ses_place *place) {
  struct ses_command command = {.count = 0};
  struct ses_need need;
  char process[32];
  ses_policy_need(policy, &need);
  snprintf(process, sizeof process, "pid:%ld", (long)getpid());
  const char *const begin[] = {"ses", "place", "--lines", "--on", system, "--for", process};
  for (size_t i = 0; i < sizeof begin / sizeof begin[0]; i++)
    ses_command_add(&command, begin[i]);
  if (name) {
    ses_command_add(&command, "--mkdir");
    ses_command_add(&command, name);
  }
  ses_command_add_subject(&command, &need);
  ses_command_add_needs(&command, &need, "--need");
  return run(&command, place);
}

int ses_place_directory(const char *system, const ses_policy *policy, const char *name,
                        ses_place *place) {
  if (!system || !*system || !place) {
    errno = EINVAL;
    return -1;
  }
  locale_t plain = newlocale(LC_ALL_MASK, "C", (locale_t)0); /* numbers are written with a point */
  if (!plain)
    return -1;
  locale_t before = uselocale(plain);
  int result = ask(system, policy, name, place);
  int error = errno;
  uselocale(before);
  freelocale(plain);
  errno = error;
  return result;
}

int ses_place_release(const ses_place *place) {
  struct ses_command command = {.count = 0};
  if (!place || !*place->id) {
    errno = EINVAL;
    return -1;
  }
  ses_command_add(&command, "ses");
  ses_command_add(&command, "release");
  ses_command_add(&command, place->id);
  return run(&command, NULL);
}
