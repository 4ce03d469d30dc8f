/*
 * What Slurm calls: options of srun, sbatch and salloc, checked where the job is submitted, and the
 * environment of its programs, set in each step on each node.
 *
 * In plugstack.conf:
 *
 *     optional ses-slurm.so [library=FILE] [jobs=all]
 *
 * library: the preload library, instead of the one installed with the plugin.  jobs=all: jobs
 * without
 * --storage run under it too.  The agent is found as by programs (SES_AGENT_SOCKET of slurmd).
 *
 * Fails a submission whose options are wrong, and nothing else: no step fails or waits longer than
 * PATIENCE_MS because of it.
 */
#include <slurm/spank.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "node.h"
#include "profile.h"
#include "request.h"
#include "settings/preload_list.h"

#define PATIENCE_MS 1000u
#define LIST_MAX 8192 /* bytes of LD_PRELOAD */

#pragma GCC visibility push(default)
SPANK_PLUGIN(qstorman, 1)
int slurm_spank_init(spank_t spank, int count, char **arguments);
int slurm_spank_init_post_opt(spank_t spank, int count, char **arguments);
int slurm_spank_user_init(spank_t spank, int count, char **arguments);
#pragma GCC visibility pop

enum { STORAGE, PROFILE };

static struct ses_request request;
static bool is_asked;  /* --storage or --storage-profile is given */
static bool is_stated; /* --storage is */

static int refuse(const char *option, const char *why) {
  slurm_error("%s %s", option, why);
  return -1;
}

/* REMOTE: on a node, where what was accepted at the submission comes again. */
static int take_storage(int which, const char *text, int remote) {
  char why[SES_REQUEST_MAX + 256];
  (void)which;
  is_asked = is_stated = true;
  if (request.profile)
    return remote ? 0 : refuse("--storage", "and --storage-profile exclude each other");
  if (ses_request_take(&request, text, why, sizeof why))
    return 0;
  return remote ? 0 : refuse("--storage", why);
}

static int take_profile(int which, const char *name, int remote) {
  char text[SES_REQUEST_MAX], why[SES_REQUEST_MAX + 256];
  (void)which;
  is_asked = true;
  if (is_stated)
    return remote ? 0 : refuse("--storage-profile", "and --storage exclude each other");
  request.profile = name;
  if (remote)
    return 0;
  if (!ses_profile_read(name, text, sizeof text))
    return -1; /* ses has said why */
  return ses_request_take(&request, text, why, sizeof why) ? 0 : refuse("--storage-profile", why);
}

static struct spank_option options[] = {
    {.name = "storage",
     .arginfo = "need",
     .usage = "what files of the job need from storage, such as 'write>=300MB/s free>=2TB!'; "
              "off: place none",
     .has_arg = 1,
     .val = STORAGE,
     .cb = take_storage},
    {.name = "storage-profile",
     .arginfo = "name",
     .usage = "the same by a profile of the site, such as checkpoint (ses requirements kinds)",
     .has_arg = 1,
     .val = PROFILE,
     .cb = take_profile},
};

int slurm_spank_init(spank_t spank, int count, char **arguments) {
  (void)count, (void)arguments;
  int result = 0;
  for (size_t i = 0; i < sizeof options / sizeof options[0]; i++)
    if (spank_option_register(spank, &options[i]) != ESPANK_SUCCESS)
      result = -1;
  return result;
}

/* What a profile requires is read once, here, and goes with the environment of the job. */
int slurm_spank_init_post_opt(spank_t spank, int count, char **arguments) {
  (void)spank, (void)count, (void)arguments;
  spank_context_t context = spank_context();
  if ((context == S_CTX_LOCAL || context == S_CTX_ALLOCATOR) && request.profile)
    setenv("SES_REQUIRE", request.require, 1);
  return 0;
}

static const char *argument(const char *name, int count, char **arguments) {
  size_t length = strlen(name);
  for (int i = 0; i < count; i++)
    if (strncmp(arguments[i], name, length) == 0)
      return arguments[i] + length;
  return NULL;
}

static void preload(spank_t spank, const char *library) {
  char list[LIST_MAX] = "", longer[LIST_MAX + 512];
  spank_err_t found = spank_getenv(spank, "LD_PRELOAD", list, sizeof list);
  if (found != ESPANK_SUCCESS && found != ESPANK_ENV_NOEXIST)
    return;
  if (ses_preload_list_names(list, library))
    return;
  int length = snprintf(longer, sizeof longer, "%s%s%s", list, *list ? ":" : "", library);
  if (length > 0 && (size_t)length < sizeof longer)
    spank_setenv(spank, "LD_PRELOAD", longer, 1);
}

/* In the step's daemon as the user, before its programs; of a batch script too. */
int slurm_spank_user_init(spank_t spank, int count, char **arguments) {
  char stated[SES_REQUEST_MAX];
  const char *library = argument("library=", count, arguments);
  const char *jobs = argument("jobs=", count, arguments);
  if (!is_asked && (!jobs || strcmp(jobs, "all") != 0))
    return 0;
  if (request.is_off) {
    spank_setenv(spank, "SES_DISABLE", "1", 1);
    return 0;
  }
  if (*request.require)
    spank_setenv(spank, "SES_REQUIRE", request.require, 1);
  else if (request.profile &&
           spank_getenv(spank, "SES_REQUIRE", stated, sizeof stated) != ESPANK_SUCCESS)
    slurm_error(
        "what profile %s requires did not come with the job: --export must name SES_REQUIRE",
        request.profile);
  preload(spank, library ? library : SES_PRELOAD_PATH);
  ses_node_prepare(PATIENCE_MS);
  return 0;
}
