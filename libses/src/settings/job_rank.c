#include "settings/job_rank.h"

#include <stdbool.h>
#include <stddef.h>
#include <string.h>
#include <sys/auxv.h>

#include "ses/table.h"

enum variable {
  OPEN_MPI_RANK,
  OPEN_MPI_SIZE,
  OPEN_MPI_LOCAL_RANK,
  PMI_RANK,
  PMI_SIZE,
  HYDRA_LOCAL_RANK,
  SLURM_RANK,
  SLURM_SIZE,
  SLURM_LOCAL_RANK,
  PMIX_RANK,
  PMIX_JOB,
  SLURM_JOB,
  PBS_JOB,
  LSF_JOB,
  SLURM_ARRAY_TASK,
  SLURM_ARRAY_JOB,
  PBS_ARRAY_TASK,
  LSF_ARRAY_TASK,
  VARIABLES
};

/* Under mpirun in an allocation of Slurm, Slurm's variables are about the daemons of mpirun: what
 * is inside comes first.  The number of tasks is that of a step: a batch script is no rank. */
static const struct {
  enum variable rank, size, local;
} launchers[] = {
    {OPEN_MPI_RANK, OPEN_MPI_SIZE, OPEN_MPI_LOCAL_RANK},
    {PMI_RANK, PMI_SIZE, HYDRA_LOCAL_RANK},
    {SLURM_RANK, SLURM_SIZE, SLURM_LOCAL_RANK},
};

/* By hand, as in settings.c. */
static void read_environment(char *const *environment, const char *values[VARIABLES]) {
  static const char names[VARIABLES][28] = {
      [OPEN_MPI_RANK] = "OMPI_COMM_WORLD_RANK=",
      [OPEN_MPI_SIZE] = "OMPI_COMM_WORLD_SIZE=",
      [OPEN_MPI_LOCAL_RANK] = "OMPI_COMM_WORLD_LOCAL_RANK=",
      [PMI_RANK] = "PMI_RANK=",
      [PMI_SIZE] = "PMI_SIZE=",
      [HYDRA_LOCAL_RANK] = "MPI_LOCALRANKID=",
      [SLURM_RANK] = "SLURM_PROCID=",
      [SLURM_SIZE] = "SLURM_STEP_NUM_TASKS=",
      [SLURM_LOCAL_RANK] = "SLURM_LOCALID=",
      [PMIX_RANK] = "PMIX_RANK=",
      [PMIX_JOB] = "PMIX_NAMESPACE=",
      [SLURM_JOB] = "SLURM_JOB_ID=",
      [PBS_JOB] = "PBS_JOBID=",
      [LSF_JOB] = "LSB_JOBID=",
      [SLURM_ARRAY_TASK] = "SLURM_ARRAY_TASK_ID=",
      [SLURM_ARRAY_JOB] = "SLURM_ARRAY_JOB_ID=",
      [PBS_ARRAY_TASK] = "PBS_ARRAY_INDEX=",
      [LSF_ARRAY_TASK] = "LSB_JOBINDEX=",
  };
  for (; *environment; environment++) {
    const char *entry = *environment;
    if (entry[0] != 'O' && entry[0] != 'P' && entry[0] != 'M' && entry[0] != 'S' && entry[0] != 'L')
      continue;
    for (int i = 0; i < VARIABLES; i++) {
      size_t length = strnlen(names[i], sizeof names[i]);
      if (!values[i] && strncmp(names[i], entry, length) == 0)
        values[i] = entry + length;
    }
  }
}

/* A number of at most nine digits. */
static bool read_number(const char *text, uint32_t *number) {
  size_t length = text ? strnlen(text, 10) : 0;
  *number = 0;
  for (size_t i = 0; i < length; i++) {
    if (text[i] < '0' || text[i] > '9')
      return false;
    *number = *number * 10 + (uint32_t)(text[i] - '0');
  }
  return length > 0 && length < 10;
}

static uint32_t job_of(const char *const values[VARIABLES]) {
  static const enum variable names[] = {PMIX_JOB, SLURM_JOB, PBS_JOB, LSF_JOB};
  for (size_t i = 0; i < sizeof names / sizeof names[0]; i++)
    if (values[names[i]] && *values[names[i]])
      return (uint32_t)ses_segment_hash(values[names[i]]);
  return (uint32_t)getauxval(AT_UID);
}

/* Ranks of a node have local ranks in their order, whichever way ranks are dealt to nodes.  Where
 * no local rank is set, all ranks before are taken to be elsewhere. */
static uint32_t elsewhere_of(const char *local_rank, uint32_t rank) {
  uint32_t local = 0;
  read_number(local_rank, &local);
  return local < rank ? rank - local : 0;
}

/* Of a task of a job array, whose tasks begin at elements of their own as ranks do.  How many
 * others run now is not known: none is taken to be elsewhere. */
static struct ses_rank array_rank(const char *const values[VARIABLES]) {
  static const struct {
    enum variable task, job;
  } arrays[] = {
      {SLURM_ARRAY_TASK, SLURM_ARRAY_JOB},
      {PBS_ARRAY_TASK, VARIABLES}, /* each task has a PBS_JOBID of its own */
      {LSF_ARRAY_TASK, LSF_JOB},   /* 0: no array */
  };
  uint32_t task;
  for (size_t i = 0; i < sizeof arrays / sizeof arrays[0]; i++) {
    if (!read_number(values[arrays[i].task], &task) ||
        (arrays[i].task == LSF_ARRAY_TASK && task == 0))
      continue;
    const char *job = arrays[i].job < VARIABLES ? values[arrays[i].job] : NULL;
    uint32_t hash = job ? (uint32_t)ses_segment_hash(job) : (uint32_t)getauxval(AT_UID);
    return (struct ses_rank){task, SES_RANKS_NOT_KNOWN, 0, hash};
  }
  return (struct ses_rank){0};
}

struct ses_rank ses_job_rank(char *const *environment) {
  const char *values[VARIABLES] = {NULL};
  uint32_t rank, ranks, inner;
  read_environment(environment, values);
  bool has_inner = read_number(values[PMIX_RANK], &inner);
  for (size_t i = 0; i < sizeof launchers / sizeof launchers[0]; i++) {
    if (!read_number(values[launchers[i].rank], &rank) ||
        !read_number(values[launchers[i].size], &ranks) ||
        (launchers[i].rank == SLURM_RANK && has_inner && inner != rank))
      continue;
    if (ranks < 2 || rank >= ranks)
      return array_rank(values);
    const char *local = values[launchers[i].local];
    local = local ? local : values[SLURM_LOCAL_RANK];
    return (struct ses_rank){rank, ranks, elsewhere_of(local, rank), job_of(values)};
  }
  if (!has_inner)
    return array_rank(values);
  return (struct ses_rank){inner, SES_RANKS_NOT_KNOWN, inner, job_of(values)};
}

const char *ses_job_name(char *const *environment) {
  static const enum variable names[] = {SLURM_JOB, PBS_JOB, LSF_JOB};
  const char *values[VARIABLES] = {NULL};
  read_environment(environment, values);
  for (size_t i = 0; i < sizeof names / sizeof names[0]; i++)
    if (values[names[i]] && *values[names[i]])
      return values[names[i]];
  return NULL;
}
