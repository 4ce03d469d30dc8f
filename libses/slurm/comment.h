/*
 * What a job's files got, written into its record when its batch script has ended.
 */
#ifndef SES_SLURM_COMMENT_H
#define SES_SLURM_COMMENT_H

#include <stdint.h>

/* Runs `ses job JOB --comment` as the caller, which must be an operator of Slurm, while the job
 * still counts as running.  Waits for it TIMEOUT_S seconds at most, then ends it.  Errors are not
 * reported: a job does not fail for its comment. */
void ses_comment_write(uint32_t job, int timeout_s);

#endif /* SES_SLURM_COMMENT_H */
