#!/bin/sh
# Prolog for slurmd: tells ses-agent whose job will run on this node, so that placements are there
# before its first file, and files count for the job of their user only.  The plugin ses-slurm.so
# does the same without the applications.  Prolog=/path/to/prolog.sh and PrologFlags=Alloc in slurm.conf.
#
# From Slurm: SLURM_JOB_ID and SLURM_JOB_UID; and applications named in the job's comment, as in
# sbatch --comment="ses-application=tar ses-application=dd".  SES_JOBS_DIR: as ses-agent's --jobs-dir.
# Never fails: Slurm would drain the node.  Runs without PATH.
umask 022
set -f # the comment is the user's: nothing in it is expanded

directory=${SES_JOBS_DIR:-/run/ses/jobs}
job=${SLURM_JOB_ID:-}
user=${SLURM_JOB_UID:-}
case $job in '' | *[!0-9]*) exit 0 ;; esac
case $user in '' | *[!0-9]*) exit 0 ;; esac
[ -d "$directory" ] || /bin/mkdir -p "$directory" || exit 0

# Under another name first: the agent passes over names that begin with a dot.
{
  echo "user=$user"
  echo "job=$job"
  for word in ${SLURM_JOB_COMMENT:-}; do
    name=${word#ses-application=}
    case $name in '' | "$word" | *[!A-Za-z0-9._+-]*) continue ;; esac
    if [ ${#name} -lt 64 ]; then echo "application=$name"; fi
  done
} >"$directory/.$job" && /bin/mv -f "$directory/.$job" "$directory/$job"
exit 0
