#include "init.h"

#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "deployed.h"
#include "greeting.h"
#include "ses/offload.h"

static bool initialised, storage_part, serving;
static const char *checked, *checked_rsh; /* of argv */
static char executable[PATH_MAX];
static char *own_command[] = {executable, NULL};
static char **command = own_command;

bool offload_is_initialised(void) { return initialised; }
bool offload_is_storage_part(void) { return storage_part; }
bool offload_is_serving(void) { return serving; }
void offload_set_serving(void) { serving = true; }
char *const *offload_command(void) { return command; }

const char *offload_checked(const char **rsh) {
  *rsh = checked_rsh;
  return checked;
}

/* Takes an argument of ours; false: it is the program's. */
static bool take(const char *word) {
  const size_t check = sizeof OFFLOAD_CHECK - 1, rsh = sizeof OFFLOAD_CHECK_RSH - 1;
  if (strcmp(word, OFFLOAD_SERVE) == 0)
    storage_part = true;
  else if (strncmp(word, OFFLOAD_CHECK, check) == 0)
    checked = word + check;
  else if (strncmp(word, OFFLOAD_CHECK_RSH, rsh) == 0)
    checked_rsh = word + rsh;
  else
    return false;
  return true;
}

int ses_offload_init(int *argc, char ***argv) {
  if (!argc || !argv || !*argv)
    return SES_OFFLOAD_INVALID;
  int kept = 0;
  for (int i = 0; i < *argc; i++)
    if (i == 0 || !take((*argv)[i]))
      (*argv)[kept++] = (*argv)[i];
  (*argv)[kept] = NULL;
  *argc = kept;
  ssize_t size = readlink("/proc/self/exe", executable, sizeof executable - 1);
  executable[size < 0 ? 0 : size] = 0;
  initialised = true;
  return SES_OFFLOAD_OK;
}

int ses_offload_set_command(const char *const *words) {
  if (!words || !words[0])
    return SES_OFFLOAD_INVALID;
  size_t count = 0, bytes = 0;
  for (; words[count]; count++)
    bytes += strlen(words[count]) + 1;
  char **copy = malloc((count + 1) * sizeof *copy + bytes);
  if (!copy)
    return SES_OFFLOAD_MEMORY;
  char *at = (char *)(copy + count + 1);
  for (size_t i = 0; i < count; i++) {
    copy[i] = at;
    at = stpcpy(at, words[i]) + 1;
  }
  copy[count] = NULL;
  command = copy; /* one that was set before may be in use */
  return SES_OFFLOAD_OK;
}
