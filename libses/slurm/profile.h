/*
 * The requirements of a profile, by the program `ses` of the node where a job is submitted.
 */
#ifndef SES_SLURM_PROFILE_H
#define SES_SLURM_PROFILE_H

#include <stdbool.h>
#include <stddef.h>

/* Into TEXT what profile NAME requires, as SES_REQUIRE takes it.  Runs `ses requirements profile
 * NAME` as the caller, with the caller's service and token, and waits for it; what is wrong it says
 * itself on standard error.  False: there is no such profile, no service, or no `ses`. */
bool ses_profile_read(const char *name, char *text, size_t size);

#endif /* SES_SLURM_PROFILE_H */
