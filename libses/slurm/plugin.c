/*
 * What Slurm calls: options of srun, sbatch and salloc, checked where the job is submitted, and the
 * environment of its programs, set in each step on each node.  And on each node, whose its jobs
 * are.
 *
 * In plugstack.conf:
 *
 *     optional ses-slurm.so [library=FILE] [jobs=all] [check=nodes|FILE] [comment=batch]
 *                           [jobs-dir=DIRECTORY] [place=DIRECTORY:...|SET] [ledger=FILE]
 *                           [ses=FILE]
 *
 * library: the preload library, instead of the one installed with the plugin.  jobs=all: jobs that
 * ask for nothing run under it too.  check: hard requirements that no node can meet are
 * refused at the submission, as the service says, or a FILE of ses nodes publish.  comment=batch:
 * what the files of a job got goes into its record when its batch script ends.  jobs-dir: as
 * --jobs-dir of ses-agent.  place: each job gets a directory of its own in one of these, as TMPDIR
 * and SES_PLACE, by the command ses=, with claims in ledger=.  The agent is found as by programs
 * (SES_AGENT_SOCKET of slurmd).
 *
 * A step inherits the options of its job; of all that are given the last holds.  Where the job is
 * submitted it is known which that is: there it goes into the environment.  What is hard also goes
 * to slurmctld, for job_submit.lua.
 *
 * Fails a submission whose options are wrong, and nothing else: no step fails or waits longer than
 * PREPARE_MS because of it, and the end of a batch script than COMMENT_SECONDS.
 */
#include <slurm/slurm.h>
#include <slurm/spank.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "comment.h"
#include "node.h"
#include "offer.h"
#include "place.h"
#include "profile.h"
#include "published.h"
#include "record.h"
#include "request.h"
#include "settings/preload_list.h"
#include "settings/require.h"

#define PREPARE_MS 1000u
#define COMMENT_SECONDS 15
#define PLACE_SECONDS 15
#define LIST_MAX 8192 /* bytes of LD_PRELOAD */
#define PROFILE_VARIABLE "SES_REQUIRE_PROFILE"
#define HARD_VARIABLE "SES_HARD" /* for job_submit.lua, by spank_job_env */

#pragma GCC visibility push(default)
SPANK_PLUGIN(qstorman, 1)
int slurm_spank_init(spank_t spank, int count, char **arguments);
int slurm_spank_init_post_opt(spank_t spank, int count, char **arguments);
int slurm_spank_user_init(spank_t spank, int count, char **arguments);
int slurm_spank_exit(spank_t spank, int count, char **arguments);
int slurm_spank_job_prolog(spank_t spank, int count, char **arguments);
int slurm_spank_job_epilog(spank_t spank, int count, char **arguments);
#pragma GCC visibility pop

enum { STORAGE, PROFILE, PLACE };

static struct ses_request request;
static const char *profile; /* whose requirements these are; NULL: of none */
static unsigned given;      /* bit I: option I; Slurm may pass one twice */
static char place[32]; /* "off", or bytes that the job writes on each node; empty: not stated */
static const char *checked; /* check=: "nodes", or an absolute path; NULL: nothing is */

static const char *argument(const char *name, int count, char **arguments) {
  size_t length = strlen(name);
  for (int i = 0; i < count; i++)
    if (strncmp(arguments[i], name, length) == 0)
      return arguments[i] + length;
  return NULL;
}

static bool is_set(const char *name, const char *value, int count, char **arguments) {
  const char *stated = argument(name, count, arguments);
  return stated && strcmp(stated, value) == 0;
}

static bool is_possible(const char *text, char *why, size_t size) {
  if (!checked || getenv("SLURM_JOB_ID"))
    return true;
  return *checked == '/' ? ses_published_offer_exists(checked, text, why, size)
                         : ses_offer_exists(text, why, size);
}

/* REMOTE: on a node, where what was accepted at the submission comes again. */
static int take(const char *option, const char *text, int remote) {
  char why[SES_REQUEST_MAX + 256];
  bool is_good = ses_request_take(&request, text, why, sizeof why);
  if (remote)
    return 0;
  if (is_good && !request.is_off)
    is_good = is_possible(text, why, sizeof why);
  if (!is_good)
    slurm_error("%s %s", option, why);
  return is_good ? 0 : -1;
}

static int take_storage(int which, const char *text, int remote) {
  given |= 1u << which;
  profile = NULL;
  return take("--storage", text, remote);
}

/* A step of a job has what was read at the submission of the job: nodes need no service for that.
 */
static bool read_profile(const char *name, char *text, size_t size) {
  const char *known = getenv(PROFILE_VARIABLE), *stated = getenv("SES_REQUIRE");
  if (!known || strcmp(known, name) != 0 || !stated || strlen(stated) >= size)
    return ses_profile_read(name, text, size);
  strcpy(text, stated);
  return true;
}

static int take_profile(int which, const char *name, int remote) {
  char text[SES_REQUEST_MAX] = "";
  given |= 1u << which;
  profile = name;
  request = (struct ses_request){0};
  if (remote)
    return 0;
  return read_profile(name, text, sizeof text) ? take("--storage-profile", text, remote) : -1;
}

static int take_place(int which, const char *text, int remote) {
  struct ses_wire_requirement stated[SES_REQUIRE_KINDS];
  char free[64];
  const char *wrong = NULL;
  (void)which;
  snprintf(place, sizeof place, "%s", text);
  if (remote || strcmp(text, "off") == 0)
    return 0;
  snprintf(free, sizeof free, "free>=%s", text);
  if (strlen(text) < sizeof place && !strpbrk(text, " ,!") &&
      ses_require_parse(free, stated, &wrong) == 1)
    return 0;
  slurm_error("--storage-place is bytes on each node, such as 300GB, or off; not %s", text);
  return -1;
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
    {.name = "storage-place",
     .arginfo = "size",
     .usage = "bytes that the job writes into TMPDIR on each node, such as 300GB, for a directory "
              "with room for it; off: no directory",
     .has_arg = 1,
     .val = PLACE,
     .cb = take_place},
};

int slurm_spank_init(spank_t spank, int count, char **arguments) {
  int result = 0;
  checked = argument("check=", count, arguments);
  for (size_t i = 0; i < sizeof options / sizeof options[0]; i++)
    if (spank_option_register(spank, &options[i]) != ESPANK_SUCCESS)
      result = -1;
  return result;
}

int slurm_spank_init_post_opt(spank_t spank, int count, char **arguments) {
  (void)count, (void)arguments;
  spank_context_t context = spank_context();
  if ((context != S_CTX_LOCAL && context != S_CTX_ALLOCATOR) || given == 0)
    return 0;
  if (request.is_off) {
    setenv("SES_DISABLE", "1", 1);
  } else {
    unsetenv("SES_DISABLE");
    setenv("SES_REQUIRE", request.require, 1);
  }
  char hard[SES_REQUEST_MAX];
  if (ses_request_hard(&request, hard, sizeof hard))
    spank_job_control_setenv(spank, HARD_VARIABLE, hard, 1);
  if (profile)
    setenv(PROFILE_VARIABLE, profile, 1);
  else
    unsetenv(PROFILE_VARIABLE);
  return 0;
}

static void preload(spank_t spank, const char *library) {
  char list[LIST_MAX] = "", longer[LIST_MAX + 512];
  spank_err_t error = spank_getenv(spank, "LD_PRELOAD", list, sizeof list);
  if (error != ESPANK_SUCCESS && error != ESPANK_ENV_NOEXIST)
    return;
  if (ses_preload_list_names(list, library))
    return;
  int length = snprintf(longer, sizeof longer, "%s%s%s", list, *list ? ":" : "", library);
  if (length > 0 && (size_t)length < sizeof longer)
    spank_setenv(spank, "LD_PRELOAD", longer, 1);
}

/* Programs ask the agent of their node, not the one of the node where the job was submitted. */
static void name_agent(spank_t spank) {
  const char *socket = getenv("SES_AGENT_SOCKET");
  if (socket && *socket)
    spank_setenv(spank, "SES_AGENT_SOCKET", socket, 1);
}

static bool is_one(void) { return given != 0 && (given & (given - 1)) == 0; }

/* The environment came with the job; without it, one option has all. */
static void state(spank_t spank) {
  char stated[SES_REQUEST_MAX];
  if (is_one() && request.is_off)
    spank_setenv(spank, "SES_DISABLE", "1", 1);
  else if (is_one() && *request.require)
    spank_setenv(spank, "SES_REQUIRE", request.require, 1);
  else if (spank_getenv(spank, "SES_REQUIRE", stated, sizeof stated) != ESPANK_SUCCESS &&
           spank_getenv(spank, "SES_DISABLE", stated, sizeof stated) != ESPANK_SUCCESS)
    slurm_error("what the options of storage say did not come with the job: --export must name "
                "SES_REQUIRE");
}

static const char *jobs_directory(int count, char **arguments) {
  const char *stated = argument("jobs-dir=", count, arguments);
  return stated && *stated ? stated : SES_JOBS_DIRECTORY;
}

static struct ses_place_settings places(int count, char **arguments) {
  const char *command = argument("ses=", count, arguments);
  return (struct ses_place_settings){.among = argument("place=", count, arguments),
                                     .command = command ? command : "ses",
                                     .ledger = argument("ledger=", count, arguments),
                                     .records = jobs_directory(count, arguments)};
}

/* The directory that the job was given on this node when it began there. */
static void name_place(spank_t spank, int count, char **arguments) {
  const struct ses_place_settings settings = places(count, arguments);
  char path[PATH_MAX];
  uint32_t job = 0;
  if (strcmp(place, "off") == 0)
    return;
  if (settings.among && spank_get_item(spank, S_JOB_ID, &job) == ESPANK_SUCCESS &&
      ses_place_of(&settings, job, place, path, PLACE_SECONDS)) {
    spank_setenv(spank, "SES_PLACE", path, 1);
    spank_setenv(spank, "TMPDIR", path, 1);
  } else if (*place) {
    slurm_error("no directory has room for %s, or the site gives none on this node (see the log "
                "of slurmd)",
                place);
  }
}

/* In the step's daemon as the user, before its programs; of a batch script too. */
int slurm_spank_user_init(spank_t spank, int count, char **arguments) {
  const char *library = argument("library=", count, arguments);
  name_place(spank, count, arguments);
  if (given > 0)
    state(spank);
  else if (!is_set("jobs=", "all", count, arguments))
    return 0;
  if (is_one() && request.is_off)
    return 0;
  preload(spank, library ? library : SES_PRELOAD_PATH);
  name_agent(spank);
  ses_node_prepare(PREPARE_MS);
  return 0;
}

/* In the daemon of a batch script that has ended, as root: Slurm learns of the end after this. */
int slurm_spank_exit(spank_t spank, int count, char **arguments) {
  uint32_t job = 0, step = 0;
  bool is_placed =
      given > 0 ? !(is_one() && request.is_off) : is_set("jobs=", "all", count, arguments);
  if (spank_remote(spank) == 1 && is_placed && is_set("comment=", "batch", count, arguments) &&
      spank_get_item(spank, S_JOB_ID, &job) == ESPANK_SUCCESS &&
      spank_get_item(spank, S_JOB_STEPID, &step) == ESPANK_SUCCESS && step == SLURM_BATCH_SCRIPT)
    ses_comment_write(job, COMMENT_SECONDS);
  return 0;
}

/* For slurmd, as root, before the first step of any job on the node.  Never fails: Slurm would
 * drain the node.  Without a record files count for the job by its control group, or for none. */
int slurm_spank_job_prolog(spank_t spank, int count, char **arguments) {
  const char *directory = jobs_directory(count, arguments);
  const struct ses_place_settings settings = places(count, arguments);
  char *size = NULL;
  uint32_t job = 0;
  uid_t uid = 0;
  int error = 0;
  if (spank_get_item(spank, S_JOB_ID, &job) != ESPANK_SUCCESS ||
      spank_get_item(spank, S_JOB_UID, &uid) != ESPANK_SUCCESS)
    return 0;
  if ((error = ses_record_write(directory, job, uid)) != 0)
    slurm_error("whose job %u is cannot be written to %s (%s); create it, or name another one by "
                "jobs-dir= here and --jobs-dir of ses-agent",
                job, directory, strerror(error));
  bool is_stated = spank_option_getopt(spank, &options[PLACE], &size) == ESPANK_SUCCESS;
  if (settings.among && !(is_stated && strcmp(size, "off") == 0) &&
      !ses_place_make(&settings, job, uid, is_stated ? size : NULL, PLACE_SECONDS))
    slurm_error("job %u has no directory in any of %s", job, settings.among);
  return 0;
}

/* The same after its last. */
int slurm_spank_job_epilog(spank_t spank, int count, char **arguments) {
  const struct ses_place_settings settings = places(count, arguments);
  uint32_t job = 0;
  uid_t uid = 0;
  if (spank_get_item(spank, S_JOB_ID, &job) != ESPANK_SUCCESS)
    return 0;
  if (settings.among && spank_get_item(spank, S_JOB_UID, &uid) == ESPANK_SUCCESS)
    ses_place_remove(&settings, job, uid, PLACE_SECONDS);
  ses_record_remove(settings.records, job);
  return 0;
}
