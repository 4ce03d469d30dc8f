"""Many runs on several processors; the results do not depend on how many."""

from __future__ import annotations

import multiprocessing
import os
import signal
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
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
    by_default = (signal.SIGTERM, signal.SIG_DFL)  # a handler of Python would wait for the lock of the queue
    with _interrupts_blocked():  # for workers as long as they live: the pool ends them
        pool = multiprocessing.get_context("fork").Pool(jobs, signal.signal, by_default)
    with pool:
        chunk = max(1, min(16, len(runs) // (jobs * 8)))
        return _collected(runs, pool.imap(simulate, runs, chunk), progress)


@contextmanager
def _interrupts_blocked() -> Iterator[None]:
    before = signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGINT})
    try:
        yield
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, before)


def _collected(runs: Sequence[Run], results: Iterable[Result], progress: Progress) -> dict[Run, Result]:
    collected: dict[Run, Result] = {}
    for run, result in zip(runs, results, strict=True):
        collected[run] = result
        progress(len(collected), len(runs))
    return collected
