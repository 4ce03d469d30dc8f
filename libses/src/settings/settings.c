#include "settings/settings.h"

#include <errno.h>
#include <string.h>
#include <sys/auxv.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <unistd.h>

#include "runtime/sys.h"
#include "runtime/valgrind.h"
#include "ses/table.h"
#include "settings/job_rank.h"
#include "settings/known_filter.h"
#include "settings/system_tools.h"

#define SYNC_MS_DEFAULT 20u
#define SYNC_MS_MAX 60000u

static struct ses_settings settings;

const struct ses_settings *ses_settings(void) { return &settings; }

enum variable {
  AGENT_SOCKET,
  APPLICATION,
  DISABLE,
  EXCLUDE,
  FILTERS,
  INCLUDE,
  LOG,
  LUSTRE_STANDIN,
  REQUIRE,
  SYNC_MS,
  VARIABLES
};

/* By hand: a program may bring its own getenv(), and secure mode is asked for once. */
static void read_environment(char **environment, const char *values[VARIABLES]) {
  static const char names[VARIABLES][16] = {
      [AGENT_SOCKET] = "AGENT_SOCKET=",
      [APPLICATION] = "APPLICATION=",
      [DISABLE] = "DISABLE=",
      [EXCLUDE] = "EXCLUDE=",
      [FILTERS] = "FILTERS=",
      [INCLUDE] = "INCLUDE=",
      [LOG] = "LOG=",
      [LUSTRE_STANDIN] = "LUSTRE_STANDIN=",
      [REQUIRE] = "REQUIRE=",
      [SYNC_MS] = "SYNC_MS=",
  };
  for (; *environment; environment++) {
    const char *entry = *environment;
    if (entry[0] != 'S' || entry[1] != 'E' || entry[2] != 'S' || entry[3] != '_')
      continue;
    for (int i = 0; i < VARIABLES; i++) {
      size_t length = strnlen(names[i], sizeof names[i]);
      if (!values[i] && strncmp(entry + 4, names[i], length) == 0)
        values[i] = entry + 4 + length;
    }
  }
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

/* A part of a name is another name: what does not fit is left out. */
static bool copy_whole(char *into, size_t size, const char *text) {
  size_t length = strnlen(text, size);
  if (length < size)
    memcpy(into, text, length);
  return length < size;
}

/* "-bash" becomes "bash". */
static const char *short_name(void) {
  const char *name = program_invocation_short_name;
  return name && *name == '-' ? name + 1 : name ? name : "";
}

/* Programs write over their environment (setproctitle), so what is needed later is copied, into
 * memory of its own; without any, what would be excluded must not be placed. */
static void keep_texts(const char *const values[VARIABLES]) {
  static const enum variable kept[] = {EXCLUDE, INCLUDE, LOG};
  const char **into[] = {&settings.exclude, &settings.include, &settings.log};
  size_t size = 0;
  for (int i = 0; i < 3; i++)
    size += values[kept[i]] && *values[kept[i]] ? strlen(values[kept[i]]) + 1 : 0;
  if (size == 0)
    return;
  long address =
      ses_sys6(SYS_mmap, 0, (long)size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (address < 0 && address > -4096) {
    settings.disabled = true;
    return;
  }
  char *at = (char *)(intptr_t)address;
  for (int i = 0; i < 3; i++) {
    const char *value = values[kept[i]];
    if (!value || !*value || (kept[i] == LOG && *value != '/'))
      continue;
    size_t length = strlen(value) + 1;
    memcpy(at, value, length);
    *into[i] = at;
    at += length;
  }
}

static void read_requirements(const char *text) {
  const char *wrong = NULL;
  if (!text || !*text)
    return;
  int count = ses_require_parse(text, settings.require, &wrong);
  settings.require_count = count > 0 ? (unsigned)count : 0;
  settings.require_wrong = count < 0 ? wrong : NULL;
}

/* Before other constructors here.  Not from its arguments: musl calls constructors without any. */
__attribute__((constructor(101))) static void read_settings(void) {
  static char *nothing[] = {NULL};
  const char *values[VARIABLES] = {NULL};
  settings.secure = getauxval(AT_SECURE) != 0;
  read_environment(environ && !settings.secure ? environ : nothing, values);

  const char *application = values[APPLICATION];
  settings.is_named = application && *application;
  settings.is_system_tool =
      !settings.is_named && ses_is_system_tool((const char *)getauxval(AT_EXECFN));
  settings.disabled = settings.is_system_tool || is_on(values[DISABLE]);
  if (settings.is_system_tool) /* it ends soon, and needs no other setting */
    return;
  settings.filter_is_known = ses_filter_is_known(values[FILTERS]);
  settings.lustre_standin = is_on(values[LUSTRE_STANDIN]);
  settings.sync_ms = milliseconds(values[SYNC_MS], SYNC_MS_DEFAULT);

  const char *path = values[AGENT_SOCKET];
  if (!path || !*path)
    path = SES_AGENT_SOCKET_DEFAULT;
  settings.agent.sun_family = AF_UNIX;
  if (strlen(path) < sizeof settings.agent.sun_path)
    copy_truncated(settings.agent.sun_path, sizeof settings.agent.sun_path, path);

  copy_truncated(settings.program, sizeof settings.program, short_name());
  if (settings.is_named && !copy_whole(settings.application, SES_APPLICATION_MAX, application))
    settings.application_wrong = application;
  if (!*settings.application)
    copy_whole(settings.application, SES_APPLICATION_MAX, settings.program);
  settings.application_hash = ses_segment_hash(settings.application);
  settings.rank = ses_job_rank(environ && !settings.secure ? environ : nothing);
  const char *job = ses_job_name(environ && !settings.secure ? environ : nothing);
  if (job && !copy_whole(settings.job, sizeof settings.job, job))
    settings.job_wrong = job;
  settings.stack_top = (uintptr_t)getauxval(AT_RANDOM); /* the kernel put it there */
  settings.valgrind = ses_is_under_valgrind();
  keep_texts(values);
  read_requirements(values[REQUIRE]);
  settings.ready = true;
}
