/*
 * Which process of a parallel job this one is, by the environment that the
 * launcher of the job sets: Open MPI, one that speaks PMI (MPICH, Intel MPI,
 * Cray MPICH, Flux), Slurm, or one that speaks PMIx alone.
 *
 * The job's number is made of what names the job; where nothing does, of the
 * user's number.  And what a batch system calls the job.
 */
#ifndef SES_JOB_RANK_H
#define SES_JOB_RANK_H

#include "ses/protocol.h"

/* No rank where the environment states none, or one of a single process, or what is no number.
 * Allocates nothing, makes no system call. */
struct ses_rank ses_job_rank(char *const *environment);

/* SLURM_JOB_ID, PBS_JOBID or LSB_JOBID, in the environment; NULL where there is none. */
const char *ses_job_name(char *const *environment);

#endif /* SES_JOB_RANK_H */
