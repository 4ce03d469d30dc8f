"""Callers at the same moment do not get the same idle directory."""

import multiprocessing
from collections import Counter
from collections.abc import Callable
from pathlib import Path

from ses.place import placing
from ses.place.placing import Request

CALLERS = 50


def test_fifty_callers_at_once_are_spread_evenly(
    disks: Callable[..., list[Path]], asking: Callable[..., Request], tmp_path: Path
) -> None:
    among = [str(disk) for disk in disks(64, 48, 32)]
    ledger = tmp_path / "ledger"
    context = multiprocessing.get_context("fork")
    together, given = context.Barrier(CALLERS), context.SimpleQueue()

    def call() -> None:
        together.wait(60)
        given.put(placing.place(asking(among, size=1000), ledger).directory)

    callers = [context.Process(target=call) for _ in range(CALLERS)]
    for caller in callers:
        caller.start()
    for caller in callers:
        caller.join(60)
        assert caller.exitcode == 0
    counts = Counter(given.get() for _ in callers)
    assert sum(counts.values()) == CALLERS == len(placing.claims_on((), ledger))
    assert max(counts.values()) <= 1.25 * CALLERS / len(among), counts
