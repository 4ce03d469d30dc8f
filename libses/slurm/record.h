/*
 * Whose a job is, for the agent of the node: a file that only root can write, as long as the job
 * has this node (libses/agent/processes/jobs.h has the format).
 */
#ifndef SES_SLURM_RECORD_H
#define SES_SLURM_RECORD_H

#include <stdint.h>
#include <sys/types.h>

#define SES_JOBS_DIRECTORY "/run/ses/jobs" /* as ses-agent has it */

/* Writes DIRECTORY/JOB: JOB is UID's, and begins on this node at the time of the file.  Makes the
 * last part of DIRECTORY where it is missing.  0, or errno's value, and nothing is there then. */
int ses_record_write(const char *directory, uint32_t job, uid_t uid);

/* The job has left the node.  Does nothing where there is no such file. */
void ses_record_remove(const char *directory, uint32_t job);

#endif /* SES_SLURM_RECORD_H */
