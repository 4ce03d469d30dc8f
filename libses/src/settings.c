#include "settings.h"

#include <errno.h>
#include <string.h>
#include <sys/auxv.h>
#include <sys/socket.h>
#include <unistd.h>

#include "ses/plan.h"
#include "valgrind.h"

#define SYNC_MS_DEFAULT 20u
#define SYNC_MS_MAX 60000u

static struct ses_settings settings;

const struct ses_settings *ses_settings(void) { return &settings; }

/* The value of NAME in the block of environment strings, or NULL.  By hand: a program may bring its
 * own getenv(), and secure mode is asked for once, not per variable. */
static const char *value_of(char **environment, const char *name) {
  size_t length = strlen(name);
  for (char **entry = environment; *entry; entry++)
    if (strncmp(*entry, name, length) == 0 && (*entry)[length] == '=')
      return *entry + length + 1;
  return NULL;
}

/* A whole number of milliseconds; anything else counts as not set. */
static unsigned milliseconds(const char *text, unsigned otherwise) {
  unsigned value = 0;
  if (!text || !*text)
    return otherwise;
  for (; *text; text++) {
    if (*text < '0' || *text > '9')
      return otherwise;
    value = value * 10 + (unsigned)(*text - '0');
    if (value > SYNC_MS_MAX)
      return SYNC_MS_MAX;
  }
  return value;
}

static bool is_on(const char *text) { return text && *text && strcmp(text, "0") != 0; }

static void copy_truncated(char *into, size_t size, const char *text) {
  size_t length = strnlen(text, size - 1);
  memcpy(into, text, length);
  into[length] = '\0';
}

/* "-bash" becomes "bash". */
static const char *short_name(void) {
  const char *name = program_invocation_short_name;
  return name && *name == '-' ? name + 1 : name ? name : "";
}

/* Not from the arguments of the constructor: musl calls constructors without any. */
__attribute__((constructor)) static void read_settings(void) {
  static char *nothing[] = {NULL};
  settings.secure = getauxval(AT_SECURE) != 0;
  char **environment = environ && !settings.secure ? environ : nothing;

  settings.disabled = is_on(value_of(environment, "SES_DISABLE"));
  settings.lustre_standin = is_on(value_of(environment, "SES_LUSTRE_STANDIN"));
  settings.sync_ms = milliseconds(value_of(environment, "SES_SYNC_MS"), SYNC_MS_DEFAULT);

  const char *path = value_of(environment, "SES_AGENT_SOCKET");
  if (!path || !*path)
    path = SES_AGENT_SOCKET_DEFAULT;
  settings.agent.sun_family = AF_UNIX;
  if (strlen(path) < sizeof settings.agent.sun_path)
    copy_truncated(settings.agent.sun_path, sizeof settings.agent.sun_path, path);

  const char *application = value_of(environment, "SES_APPLICATION");
  copy_truncated(settings.application, sizeof settings.application,
                 application && *application ? application : short_name());
  settings.application_hash = ses_plan_hash(settings.application);
  settings.stack_top = (uintptr_t)getauxval(AT_RANDOM); /* the kernel put it there */
  settings.valgrind = ses_is_under_valgrind();
  settings.ready = true;
}
