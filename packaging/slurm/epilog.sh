#!/bin/sh
# Epilog for slurmd: the job that prolog.sh announced to ses-agent is over; its shared regions go.
# Epilog=/path/to/epilog.sh in slurm.conf.  Never fails; runs without PATH.
directory=${SES_JOBS_DIR:-/run/ses/jobs}
job=${SLURM_JOB_ID:-}
case $job in '' | *[!0-9]*) exit 0 ;; esac
/bin/rm -f "$directory/$job" "$directory/.$job"
[ -x /usr/bin/ses ] && /usr/bin/ses share remove --job "$job" >/dev/null 2>&1
exit 0
