/*
 * "NAME" or "JOB/NAME" of a region, of another user "USER:NAME"; "job/NAME" is of the job of this
 * process.
 */
#ifndef SES_SHARE_NAMES_H
#define SES_SHARE_NAMES_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#define SES_SHARE_WHOLE_NAME 640 /* bytes, with user and node */

struct ses_share_name {
  uint32_t owner;
  const char *name; /* without the owner */
  bool remote;      /* of another node; it gets the whole name */
  char whole[SES_SHARE_WHOLE_NAME];
};

/* True: NAME is one that a region or an item may have. */
bool ses_share_is_name(const char *name);

/* The same of a region: "NAME", or "JOB/NAME" with a job as batch systems name them. */
bool ses_share_is_region_name(const char *name);

/* What TEXT means to this process.  0; EINVAL: not a name; ESRCH: there is no job; ENOENT: no such
 * user. */
int ses_share_read_name(const char *text, struct ses_share_name *name);

/* The NUMBERth key at which the region may be. */
key_t ses_share_key_of(const struct ses_share_name *name, uint32_t number);

#endif /* SES_SHARE_NAMES_H */
