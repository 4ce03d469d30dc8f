"""Running commands of Slurm."""

from __future__ import annotations

import os
import subprocess

from ses_client.errors import SesError

_SECONDS = 60.0


def scontrol(*arguments: str) -> str:
    """Return what ``scontrol`` prints; raises SesError with what it complains of."""
    return _printed("scontrol", *arguments)


def squeue(*arguments: str) -> str:
    """Return what ``squeue`` prints, bytes that are no UTF-8 as surrogates; raises SesError likewise.

    What the caller has it leave out otherwise, by variables as ``SQUEUE_USERS``, does not count.
    """
    return _printed("squeue", *arguments)


def _environment() -> dict[str, str]:
    kept = {name: value for name, value in os.environ.items() if not name.startswith("SQUEUE_")}
    return {**kept, "LC_ALL": "C.UTF-8"}


def _printed(program: str, *arguments: str) -> str:
    try:
        done = subprocess.run(
            [program, *arguments], capture_output=True, text=True, errors="surrogateescape",
            timeout=_SECONDS, check=False, env=_environment(),
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
