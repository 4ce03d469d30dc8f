"""How long a job of Slurm waited in the queue, by what Slurm reports of it.

That depends on who else wanted the nodes at that moment.  So it says nothing of a later run, unlike what it
takes to reach a node and to start a program there.
"""

from __future__ import annotations

import subprocess

from ses.slurm.scontrol import environment

_ANSWER_SECONDS = 10.0
EXACT_SECONDS = 2
"""Slurm reports whole seconds: the times of a job that did not wait may differ by one."""


def queued_seconds(job: str) -> float | None:
    """Return the seconds a job waited for its nodes after it was submitted; ``None``: not reported."""
    since_1970 = {"SLURM_TIME_FORMAT": "%s"}  # two local times may be hours of summer apart
    try:
        done = subprocess.run(
            ["squeue", "--noheader", "--states=all", f"--jobs={job}", "--format=%V %S"],
            stdin=subprocess.DEVNULL, capture_output=True, text=True, timeout=_ANSWER_SECONDS, check=False,
            env={**environment(), **since_1970},
        )  # fmt: skip
        submitted, started = map(int, done.stdout.split())
    except (OSError, ValueError, subprocess.TimeoutExpired):
        return None
    return float(started - submitted) if started - submitted >= EXACT_SECONDS else 0.0
