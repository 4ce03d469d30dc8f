"""Runs of one node as job arrays of Slurm, with requests and answers in a folder that all nodes share.

A run's request is a file that the runner reads as standard input, and its answer a file of the frames the
runner writes (:mod:`ses.near.execution.frames`), renamed when it is whole.
"""

from __future__ import annotations

import shlex
import subprocess
import threading
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import replace
from pathlib import Path

from ses.near.execution import frames
from ses.near.execution.connection import NotStartedError
from ses.near.execution.executors import asked_of_slurm, bootstrap
from ses.near.execution.run import Run
from ses.slurm.scontrol import environment

MAX_RUNS = 1000
"""Elements of an array; Slurm's own default allows one more."""

_LOOK_SECONDS = 0.5
_ASK_SECONDS = 5.0
_MISSING = 2  # times that Slurm did not know it, as files of other nodes are seen late
_ANSWER_SECONDS = 60
_SCRIPT = """#!/bin/bash
umask 077
numbers=({numbers})
task={folder}/${{numbers[$SLURM_ARRAY_TASK_ID]}}
{runner} <"$task.request" >"$task.part" 2>"$task.errors" && mv "$task.part" "$task.answer"
"""


class JobArray:
    """Runs by number, ``at_once`` of them at a time.  Used by one thread; :meth:`end` by any."""

    def __init__(self, runs: Mapping[int, Run], at_once: int, folder: Path, own: Sequence[str]) -> None:
        """``folder``: of the same name on the nodes, this user's alone; ``own``: in place of sbatch."""
        self._runs = runs
        self._at_once = at_once
        self._folder = folder
        self._own = own
        self._jobs: list[str] = []
        self._ended = threading.Event()

    def submit(self) -> None:
        """Give all runs to Slurm.  Raises NotStartedError with its message, OSError."""
        numbers = list(self._runs)
        for number, run in self._runs.items():
            request = frames.written(b"R", replace(run, attended=False).request())
            path = self._folder / f"{number}.request"
            path.touch(0o600)
            path.write_bytes(request)
        for first in range(0, len(numbers), MAX_RUNS):
            self._submit(numbers[first : first + MAX_RUNS])

    def answers(self) -> Iterator[tuple[int, Path | None]]:
        """Yield each run as it ends, with the file of its answer; ``None``: it was lost.

        Ends early after :meth:`end`.
        """
        left, asked_at = dict.fromkeys(self._runs, 0), 0.0
        while left and not self._ended.is_set():
            for number in [number for number in left if (self._folder / f"{number}.answer").exists()]:
                del left[number]
                yield number, self._folder / f"{number}.answer"
            if left and time.monotonic() - asked_at >= _ASK_SECONDS:
                asked_at = time.monotonic()
                known = self._known()
                for number in [number for number in left if known is not None and number not in known]:
                    left[number] += 1
                for number in [number for number, missing in left.items() if missing >= _MISSING]:
                    if not (self._folder / f"{number}.answer").exists():
                        del left[number]
                        yield number, None
            self._ended.wait(_LOOK_SECONDS)

    def error_of(self, number: int) -> str:
        """Return the last line that a run that was lost wrote to standard error, if any."""
        with suppress(OSError):
            lines = (self._folder / f"{number}.errors").read_text("utf-8", "replace").strip().splitlines()
            return lines[-1] if lines else ""
        return ""

    def end(self) -> None:
        """Cancel what still waits or runs."""
        self._ended.set()
        if self._jobs:
            with suppress(OSError, subprocess.TimeoutExpired):
                subprocess.run(
                    ["scancel", "--quiet", *self._jobs],
                    stdin=subprocess.DEVNULL, capture_output=True, timeout=_ANSWER_SECONDS, check=False,
                    env=environment(),
                )  # fmt: skip

    def _submit(self, numbers: Sequence[int]) -> None:
        run = self._runs[numbers[0]]
        script = _SCRIPT.format(
            numbers=" ".join(map(str, numbers)),
            folder=shlex.quote(str(self._folder)),
            runner=shlex.join(bootstrap("python3")),
        )
        argv = [*(self._own or ("sbatch",)), "--parsable", f"--array=0-{len(numbers) - 1}%{self._at_once}"]
        argv += [*asked_of_slurm(run.node, run.limits), "--job-name=ses-map-near", "--no-requeue"]
        argv += ["--output=/dev/null", "--error=/dev/null"]
        if self._jobs:
            argv.append(f"--dependency=afterany:{self._jobs[-1]}")
        try:
            done = subprocess.run(
                argv, input=script, capture_output=True, text=True, timeout=_ANSWER_SECONDS, check=False,
                env=environment(),
            )  # fmt: skip
        except subprocess.TimeoutExpired:
            raise NotStartedError(f"{argv[0]} does not answer") from None
        if done.returncode != 0:
            errors = done.stderr.strip().splitlines()
            raise NotStartedError(errors[-1] if errors else f"{argv[0]} ended with {done.returncode}")
        self._jobs.append(done.stdout.strip().partition(";")[0])

    def _known(self) -> set[int] | None:
        """Return the runs that wait or run; ``None``: Slurm gives no answer."""
        try:
            done = subprocess.run(
                ["squeue", "--noheader", "--array", "--jobs", ",".join(self._jobs), "--format", "%F %K"],
                stdin=subprocess.DEVNULL, capture_output=True, text=True, timeout=_ANSWER_SECONDS,
                check=False, env=environment(),
            )  # fmt: skip
        except (OSError, subprocess.TimeoutExpired):
            return None
        if done.returncode != 0 and "Invalid job id" not in done.stderr:
            return None
        numbers, known = list(self._runs), set()
        for entry in done.stdout.splitlines():
            job, _, element = entry.partition(" ")
            if job in self._jobs and element.isdecimal():
                known.add(numbers[self._jobs.index(job) * MAX_RUNS + int(element)])
        return known
