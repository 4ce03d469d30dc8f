"""Jobs that write into one of eight unequal directories, chosen by ``ses place`` and by other ways.

A batch of jobs, so many at a time, with sizes of a log-normal distribution: many short ones, few long ones.
Six directories are ext4 on slow disks, two are mounts of NFS servers whose disks are slow.  Each run has a
Linux of its own (``user_mode``).  Pure but for ``measure``.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path
from random import Random
from statistics import fmean
from typing import Any

from ses.demo.interrupts import Interrupts

from ses_experiment import user_mode
from ses_experiment.machine import load, machine, sources
from ses_experiment.papers.qstorman.results import Results

PRODUCT = "place"
BASELINES = {
    "weights": "by chance, weighted by what each directory gives at best: Galaxy's distributed object store",
    "random": "by chance",
    "free": "the most free space",
    "stated": "ses place that is given these rates (--rate), and need not learn them",
    "service": "ses place --on, of a service with a monitor whose site states them",
}
RATES = (4.0, 3.0, 2.0, 1.5, 1.0, 1.0, 2.5, 1.5)  # MB/s of the directories, the last REMOTE ones on NFS
CAPACITY = 9000  # MB of each: as free as where the rule of most free space was at work for long
REMOTE = 2
MEGABYTE = 1.048576  # MB in a MiB, the unit of jobs
_SPREAD = 1.25  # of the logarithm of sizes: one in ten jobs is five times as large as the middle one, or more
_PART, _COMPUTING = 16, 0.03  # MiB a job writes at a time; seconds it computes for each before
_LEARNING = [[(0.0, 4)]] * 16  # what ran before, from which ses place knows what directories give
_SLOWEST = 400.0  # seconds, before a run is given up


@dataclass(frozen=True, slots=True)
class Run:
    """One batch under one arm."""

    arm: str
    number: int


@dataclass(frozen=True, slots=True)
class Batch:
    """What came of a run: of each job its directory, its start and its end in seconds."""

    run: Run
    jobs: tuple[tuple[int, float, float], ...]
    busy: float
    time: str

    @classmethod
    def of_json(cls, data: dict[str, Any]) -> Batch:
        """Return what a line of the results holds."""
        jobs = tuple((int(where), start, end) for where, start, end in data["jobs"])
        return cls(Run(**data["run"]), jobs, data["busy"], data["time"])


@dataclass(frozen=True, slots=True)
class Plan:
    """What is run; ``megabytes`` is the mean size of a job, MiB, and ``slots`` how many run at a time."""

    jobs: int = 40
    slots: int = 12
    rounds: int = 5
    megabytes: int = 12
    baselines: tuple[str, ...] = tuple(BASELINES)
    seed: int = 1

    def runs(self) -> list[Run]:
        """Return all runs; the arms of a round come in an order by chance."""
        chance, arms = Random(self.seed), (PRODUCT, *self.baselines)
        return [
            Run(arm, number) for number in range(1, self.rounds + 1) for arm in chance.sample(arms, len(arms))
        ]

    def batch(self, number: int) -> list[list[tuple[float, int]]]:
        """Return the jobs of a round, each as parts: seconds of computing, and MiB to write."""
        chance = Random(f"{self.seed} {number}")
        sizes = [chance.lognormvariate(0, _SPREAD) for _ in range(self.jobs)]
        wanted = self.jobs * self.megabytes / sum(sizes)
        return [_parts(max(1, round(size * wanted))) for size in sizes]

    def settings(self) -> dict[str, Any]:
        """Return what results depend on, but for the number of rounds and the arms."""
        return {
            **{name: getattr(self, name) for name in ("jobs", "slots", "megabytes", "seed")},
            "rates": RATES, "capacity": CAPACITY, "product": sources("ses.place"),
        }  # fmt: skip

    def estimate(self, runs: int) -> float:
        """Return about how many seconds so many runs take."""
        return runs * (30 + 2 * self.jobs * self.megabytes / sum(RATES))


def _parts(size: int) -> list[tuple[float, int]]:
    parts = [_PART] * (size // _PART) + [size % _PART] * (size % _PART > 0)
    return [(round(_COMPUTING * part, 3), part) for part in parts]


def measure(
    plan: Plan, file: Path, interrupts: Interrupts, progress: Callable[[str], None]
) -> tuple[list[Batch], dict[str, Any]]:
    """Run what is not yet in ``file``; returns all batches, and what is known of settings and machine.

    Raises DemoError, StoppedError, and what Results raises.
    """
    known = machine(("linux.uml", "--version"))
    results = Results(file, plan.settings(), known, Batch.of_json)
    todo = [run for run in plan.runs() if run not in results]
    progress(f"{len(todo)} runs to do, about {plan.estimate(len(todo)) / 60:.0f} minutes; results: {file}")
    for done, run in enumerate(todo):
        left = plan.estimate(len(todo) - done) / 60
        progress(f"run {done + 1} of {len(todo)}, about {left:.0f} min left: {run.arm}, round {run.number}")
        asked = {
            "arm": run.arm, "rates": RATES, "capacity": CAPACITY, "remote": REMOTE, "slots": plan.slots,
            "seed": f"{plan.seed} {run.number}", "jobs": plan.batch(run.number),
            "before": _LEARNING if run.arm == PRODUCT else [],
        }  # fmt: skip
        at, busy = time.strftime("%Y-%m-%dT%H:%M:%S%z"), load()
        jobs = user_mode.run(["-m", "ses_experiment.places_inside"], asked, interrupts, _SLOWEST)
        results.add(Batch(run, tuple(map(tuple, jobs)), busy, at))
    return results.among(plan.runs()), {"settings": plan.settings(), "machine": known, "runs": str(file)}


@dataclass(frozen=True, slots=True)
class Outcome:
    """What is compared of a batch.

    The load of a directory is the jobs that write there for each MB/s it gives: ``load`` is the largest one
    over the mean one, both averaged over the batch, and ``work`` the same of the seconds of work that all
    jobs brought.  ``seconds`` until the last job ended, ``jobs`` the sum of what each took.
    """

    load: float
    work: float
    seconds: float
    jobs: float


def outcome(plan: Plan, batch: Batch) -> Outcome:
    """Return what came of a batch."""
    largest = mean = 0.0
    moments = sorted({moment for _, *moments in batch.jobs for moment in moments})
    for start, end in pairwise(moments):
        there = [where for where, begun, ended in batch.jobs if begun <= start and end <= ended]
        loads = [there.count(number) / rate for number, rate in enumerate(RATES)]
        largest += max(loads) * (end - start)
        mean += fmean(loads) * (end - start)
    work = [0.0] * len(RATES)
    for (where, _, _), parts in zip(batch.jobs, plan.batch(batch.run.number), strict=True):
        work[where] += sum(size for _, size in parts) * MEGABYTE / RATES[where]
    return Outcome(
        largest / mean, max(work) / fmean(work), moments[-1] - moments[0],
        sum(ended - begun for _, begun, ended in batch.jobs),
    )  # fmt: skip


def compared(plan: Plan, batches: Sequence[Batch], name: str) -> list[tuple[Outcome, Outcome]]:
    """Return what the product and another arm attained, round by round."""
    of_run = {batch.run: outcome(plan, batch) for batch in batches}
    return [
        (of_run[Run(PRODUCT, number)], of_run[Run(name, number)])
        for number in range(1, plan.rounds + 1)
        if Run(PRODUCT, number) in of_run and Run(name, number) in of_run
    ]
