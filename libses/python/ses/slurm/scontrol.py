"""Running commands of Slurm, by what they are given and not by what their caller has them do otherwise.

Each takes options from variables: ``SQUEUE_USERS`` leaves out jobs, ``SCANCEL_STATE`` cancels no others,
``SLURM_LABELIO`` writes before each line of a task whose it is, ``SBATCH_WAIT`` has sbatch end with its job.
"""

from __future__ import annotations

import os
import subprocess

from ses_client.errors import SesError

_SECONDS = 60.0
_OPTIONS = ("SQUEUE_", "SCANCEL_", "SBATCH_WAIT", "SLURM_LABELIO", "SLURM_DEBUG")


def scontrol(*arguments: str) -> str:
    """Return what ``scontrol`` prints; raises SesError with what it complains of."""
    return _printed("scontrol", *arguments)


def squeue(*arguments: str) -> str:
    """Return what ``squeue`` prints, bytes that are no UTF-8 as surrogates; raises SesError likewise."""
    return _printed("squeue", *arguments)


def environment() -> dict[str, str]:
    """Return the environment without what has commands of Slurm leave something out or show it otherwise."""
    return {name: value for name, value in os.environ.items() if not name.startswith(_OPTIONS)}


def _printed(program: str, *arguments: str) -> str:
    try:
        done = subprocess.run(
            [program, *arguments], capture_output=True, text=True, errors="surrogateescape",
            timeout=_SECONDS, check=False, env={**environment(), "LC_ALL": "C.UTF-8"},
        )  # fmt: skip
    except FileNotFoundError:
        raise SesError(f"{program} is not there: run this where commands of Slurm are.") from None
    except subprocess.TimeoutExpired:
        raise SesError(f"{program} did not answer within {_SECONDS:.0f} s. Does slurmctld run?") from None
    if done.returncode != 0:
        answer = done.stderr.strip() or done.stdout.strip()
        why = " Slurm changes the record of a job only while it runs." if "already finished" in answer else ""
        raise SesError(f"{program} {arguments[0]} failed: {answer}.{why}")
    return done.stdout
