"""Many runs on several processors; the results do not depend on how many."""

from __future__ import annotations

import multiprocessing
import os
from collections.abc import Callable, Iterable, Sequence
from typing import TypeAlias, TypeVar

Run = TypeVar("Run")
Result = TypeVar("Result")
Progress: TypeAlias = Callable[[int, int], object]
"""Told how many runs are done, and of how many."""


def processors() -> int:
    """Return how many processors this process may use."""
    return len(os.sched_getaffinity(0))


def run_all(
    simulate: Callable[[Run], Result], runs: Sequence[Run], jobs: int, progress: Progress
) -> dict[Run, Result]:
    """Simulate every run (given once each) in ``jobs`` processes."""
    if jobs <= 1 or len(runs) < 2:
        return _collected(runs, map(simulate, runs), progress)
    with multiprocessing.get_context("fork").Pool(jobs) as pool:
        chunk = max(1, min(16, len(runs) // (jobs * 8)))
        return _collected(runs, pool.imap(simulate, runs, chunk), progress)


def _collected(runs: Sequence[Run], results: Iterable[Result], progress: Progress) -> dict[Run, Result]:
    found: dict[Run, Result] = {}
    for run, result in zip(runs, results, strict=True):
        found[run] = result
        progress(len(found), len(runs))
    return found
