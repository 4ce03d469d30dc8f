/*
 * A directory of its own for a job on this node, by `ses place`: chosen, claimed and made when the
 * job begins here, released and removed when it has left.
 */
#ifndef SES_SLURM_PLACE_H
#define SES_SLURM_PLACE_H

#include <limits.h>
#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

/* As the plugin's arguments say. */
struct ses_place_settings {
  const char *among;   /* a set, or directories with colons between; NULL: jobs get none */
  const char *command; /* `ses` */
  const char *ledger;  /* of all jobs on this node; NULL: root's own */
  const char *records; /* where it is written which directory a job has */
};

/* Whether the service chooses: it gives to who asks, so the first step of the job asks as the user,
 * who could have the command name any directory. */
bool ses_place_is_set(const struct ses_place_settings *settings);

/* As root: makes a directory of UID for JOB, with the claim on SIZE (a text; NULL: not stated), or
 * lets the steps ask.  Waits TIMEOUT_S seconds at most.  False: there is none, and the log says
 * why. */
bool ses_place_make(const struct ses_place_settings *settings, uint32_t job, uid_t uid,
                    const char *size, int timeout_s);

/* Into PATH the directory that JOB has on this node.  Of a set the user asks for one with room for
 * SIZE, if the job has none yet, unless TIMEOUT_S is 0.  False: it has none. */
bool ses_place_of(const struct ses_place_settings *settings, uint32_t job, const char *size,
                  char path[PATH_MAX], int timeout_s);

/* As root: ends the claim of UID, and as UID removes the directory with what is in it. */
void ses_place_remove(const struct ses_place_settings *settings, uint32_t job, uid_t uid,
                      int timeout_s);

#endif /* SES_SLURM_PLACE_H */
