/*
 * ses_place_directory: a directory that the service gives, by the command `ses`, which knows the
 * service, its proof and the caller's token.
 *
 * Does NOT speak HTTP itself, and remembers nothing.
 */
#include <errno.h>
#include <locale.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "arguments.h"
#include "command.h"
#include "policy.h"

_Static_assert(sizeof(ses_place) == 4352, "the size of a place is part of the ABI");

/* "ID ELEMENT DIRECTORY"; false: it is not. */
static bool understand(char *line, ses_place *place) {
  char *element = strchr(line, ' ');
  char *directory = element ? strchr(element + 1, ' ') : NULL;
  if (!directory)
    return false;
  *element++ = *directory++ = '\0';
  memset(place, 0, sizeof *place);
  if (strlen(line) >= sizeof place->id || strlen(element) >= sizeof place->element ||
      strlen(directory) >= sizeof place->directory)
    return false;
  strcpy(place->id, line);
  strcpy(place->element, element);
  strcpy(place->directory, directory);
  return true;
}

/* Runs COMMAND, which names PLACE unless that is NULL.  -1 with errno, or 0; one that a handler of
 * the program's has reaped has ended well. */
static int run(struct ses_command *command, ses_place *place) {
  static const int errors[] = {0, ENOSPC, EINVAL, EHOSTUNREACH, EACCES, ENOENT};
  char line[sizeof *place + 1];
  int status = 0;
  int error = ses_command_read(command->arguments, true, -1, line, sizeof line, &status);
  if (error == EMSGSIZE && !place)
    error = 0;
  if (error == 0 && status > 0)
    error = status < (int)(sizeof errors / sizeof errors[0]) ? errors[status] : EIO;
  if (error == 0 && place && !understand(line, place))
    error = EPROTO;
  if (error == 0)
    return 0;
  errno = error;
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
