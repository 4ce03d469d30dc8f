/*
 * Names of regions and items, and the kernel's key that a region's name gives.
 */
#include "names.h"

#include <errno.h>
#include <pwd.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "layout.h"
#include "remote/remote.h"
#include "ses/segment.h"

#define NAME_CHARACTERS "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789._-"
#define OWN_JOB "job/"

bool ses_share_is_name(const char *name) {
  size_t length = name ? strnlen(name, SES_SHARE_NAME_MAX) : 0;
  return length > 0 && length < SES_SHARE_NAME_MAX && strspn(name, NAME_CHARACTERS) == length;
}

bool ses_share_is_region_name(const char *name) {
  const char *slash = strchr(name, '/');
  if (!slash)
    return ses_share_is_name(name);
  size_t job = (size_t)(slash - name);
  return strlen(name) < SES_SHARE_NAME_MAX && job > 0 &&
         strspn(name, NAME_CHARACTERS "[]") == job && ses_share_is_name(slash + 1);
}

/* Put TEXT into WHOLE, with the number of this process' job for "job". */
static int with_job(const char *text, char whole[SES_SHARE_WHOLE_NAME]) {
  static const char *const variables[] = {"SLURM_JOB_ID", "PBS_JOBID", "LSB_JOBID"};
  const char *start = text ? strstr(text, OWN_JOB) : NULL, *job = "";
  size_t before = start ? (size_t)(start - text) : 0;
  const char *after = start ? start + strlen(OWN_JOB) - 1 : text; /* from the slash on */
  if (!start || (before > 0 && text[before - 1] != ':'))
    return !text || snprintf(whole, SES_SHARE_WHOLE_NAME, "%s", text) >= SES_SHARE_WHOLE_NAME
               ? EINVAL
               : 0;
  for (unsigned i = 0; i < sizeof variables / sizeof *variables && !*job; i++)
    if (getenv(variables[i]))
      job = getenv(variables[i]);
  if (!*job)
    return ESRCH;
  return snprintf(whole, SES_SHARE_WHOLE_NAME, "%.*s%s%s", (int)before, text, job, after) >=
                 SES_SHARE_WHOLE_NAME
             ? EINVAL
             : 0;
}

static int user_of(const char *text, size_t length, uint32_t *user) {
  char name[256], room[4096], *end;
  struct passwd entry, *account = NULL;
  if (length == 0 || length >= sizeof name)
    return EINVAL;
  memcpy(name, text, length);
  name[length] = '\0';
  unsigned long number = strtoul(name, &end, 10);
  if (*end == '\0' && name[0] != '-' && number < UINT32_MAX) {
    *user = (uint32_t)number;
    return 0;
  }
  if (getpwnam_r(name, &entry, room, sizeof room, &account) != 0 || !account)
    return ENOENT;
  *user = account->pw_uid;
  return 0;
}

int ses_share_read_name(const char *text, struct ses_share_name *region) {
  int status = with_job(text, region->whole);
  if (status != 0)
    return status;
  region->remote = ses_remote_is_meant(region->whole);
  const char *colon = strchr(region->whole, ':');
  region->owner = (uint32_t)geteuid();
  region->name = colon ? colon + 1 : region->whole;
  if (region->remote)
    return 0;
  if (!ses_share_is_region_name(region->name))
    return EINVAL;
  return colon ? user_of(region->whole, (size_t)(colon - region->whole), &region->owner) : 0;
}

key_t ses_share_key_of(const struct ses_share_name *region, uint32_t number) {
  uint64_t hash = ses_segment_hash(region->name) ^ (uint64_t)region->owner * 0x9e3779b97f4a7c15u;
  return ses_segment_key(hash ^ SES_SHARE_MAGIC, number);
}
