"""Figure 5 of OSU-CISRC-8/07-TR53: puts and gets of another node's values, answered on a core of its own.

A client asks every millisecond for a value that lies on a node whose processors are busy (two programs for
each core of it that never sleep).  The client stands for another machine: nothing that runs here delays it.

* ``idle``: the plain agent, nothing else runs on the node;
* ``plain``: the plain agent beside the load;
* ``core free``: the plain agent, and the load has one core less;
* ``first``: the agent goes before all others (``--fifo``), on any core, beside the load;
* ``core sleeps``, ``core polls``: the load has one core less, which the agent has (``--core``, ``--fifo``);
  until a request comes it sleeps (an interrupt wakes it), or looks for it.

``busy`` is the processor time that the load gets, in cores: what a core for the agent takes from it.
"""

from __future__ import annotations

import gc
import json
import os
import statistics
import subprocess
import sys
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from pathlib import Path

from ses.demo.faults import DemoError
from ses.demo.interrupts import Interrupts
from ses.demo.processes import said, started
from ses.share import Region

from ses_experiment.machine import processor_seconds
from ses_experiment.papers.dedicated import cores, median_between
from ses_experiment.papers.share_nodes import Nodes, set_up

IDLE, PLAIN, FREE, FIRST = "idle", "plain", "core free", "first"
SLEEPS, POLLS = "core sleeps", "core polls"
ARMS = (IDLE, PLAIN, FREE, FIRST, SLEEPS, POLLS)
PUT, GET = "put", "get"
PROVIDERS = ("tcp", "shm")
_PRIORITY = "40"  # of SCHED_FIFO: the core is the agent's, whoever else is on it
_PERIOD = 0.001
_LIMIT_SECONDS = 600.0
_LOAD_OF_A_CORE = 2
_FOR_EVER = "while :; do :; done"


@dataclass(frozen=True, slots=True)
class Line:
    """A way to answer, at one size: microseconds, medians over the rounds; ``p99_between`` with 95 %."""

    provider: str
    arm: str
    operation: str
    size: int
    p50: float
    p99: float
    p99_between: tuple[float, float]
    busy: float


def measure(
    agent: Path, providers: Sequence[str], sizes: Sequence[int], calls: int, rounds: int,
    interrupts: Interrupts, progress: Callable[[str], None],
) -> list[Line]:  # fmt: skip
    """Run each way in turns, ``calls`` puts and gets of each size in a round.  Raises DemoError."""
    mine = cores()
    samples: dict[tuple[str, str, str, int], list[tuple[float, float, float]]] = {}
    with interrupts.undoing(progress) as undo:
        stand = set_up(2, "ses experiment share", agent, undo, interrupts)
        for turn in range(rounds):
            for provider in providers:
                for arm in ARMS if turn % 2 == 0 else reversed(ARMS):
                    interrupts.check()
                    progress(f"{provider}, {arm}, round {turn + 1}")
                    used = mine.every if arm in (PLAIN, FIRST) else mine.fewer
                    with ExitStack() as run:
                        options = ("--provider", provider, *options_of(arm, mine.free))
                        stand.start_agent(stand.nodes[0], run, *options)
                        with busy(stand, set() if arm == IDLE else used, len(mine.every)) as got:
                            taken = _ask(stand, provider, sizes, calls, min(mine.every))
                            share = got()
                    for (operation, size), times in taken.items():
                        cut = statistics.quantiles(times, n=100)
                        key = (provider, arm, operation, size)
                        samples.setdefault(key, []).append((cut[49], cut[98], share))
    return [_line(*key, measured) for key, measured in samples.items()]


def options_of(arm: str, core: int) -> tuple[str, ...]:
    """Return what the agent of an arm is started with."""
    first = ("--fifo", _PRIORITY)
    on_core = ("--core", str(core), *first)
    return {FIRST: first, SLEEPS: (*on_core, "--sleep"), POLLS: on_core}.get(arm, ())


def _line(provider: str, arm: str, operation: str, size: int, measured: Sequence[tuple[float, ...]]) -> Line:
    p50, p99, share = (statistics.median(column) for column in zip(*measured, strict=True))
    between = median_between([entry[1] for entry in measured])
    return Line(provider, arm, operation, size, p50, p99, between, share)


def less(lines: Sequence[Line], arm: str, against: str) -> dict[str, float]:
    """By how much less the p99 of a get is, for each provider: the median over the sizes."""
    kept = {(line.provider, line.size, line.arm): line.p99 for line in lines if line.operation == GET}
    result: dict[str, list[float]] = {}
    for provider, size, which in kept:
        if which == arm:
            ratio = kept[provider, size, arm] / kept[provider, size, against]
            result.setdefault(provider, []).append(1 - ratio)
    return {provider: statistics.median(values) for provider, values in result.items()}


@contextmanager
def busy(stand: Nodes, on: set[int] | frozenset[int], count: int) -> Iterator[Callable[[], float]]:
    """Load the first node's cores; gives what returns the cores that the load has had since."""
    with ExitStack() as undo:
        running = []
        for _ in range(count * _LOAD_OF_A_CORE if on else 0):
            running.append(started([*stand.nodes[0].inside, "sh", "-c", _FOR_EVER], undo).pid)
            os.sched_setaffinity(running[-1], on)
        before, began = sum(map(processor_seconds, running)), time.monotonic()
        yield lambda: (sum(map(processor_seconds, running)) - before) / (time.monotonic() - began)


def _ask(
    stand: Nodes, provider: str, sizes: Sequence[int], calls: int, core: int
) -> dict[tuple[str, int], list[float]]:
    """Have a process on the second node ask; shm reaches nothing but its own node."""
    node = stand.nodes[0 if provider == "shm" else 1]
    words = [*node.inside, sys.executable, "-m", __name__, stand.nodes[0].address, str(calls), str(core)]
    pipes = {"stdout": subprocess.PIPE, "stderr": subprocess.PIPE, "text": True}
    with ExitStack() as undo:
        client = started([*words, *map(str, sizes)], undo, env=stand.environment, **pipes)
        printed, errors = said(client, stand.interrupts, _LIMIT_SECONDS)
    if client.returncode != 0:
        raise DemoError(f"The client failed: {(errors.splitlines() or ['it is not known why'])[-1]}")
    taken = {}
    for line in printed.splitlines():
        operation, size, times = json.loads(line)
        taken[operation, size] = times
    return taken


def _client(address: str, calls: int, core: int, sizes: Sequence[int]) -> None:
    """Put and get values of each size, one call in a millisecond; print how long each took, us."""
    os.sched_setaffinity(0, {core})
    os.sched_setscheduler(0, os.SCHED_FIFO, os.sched_param(50))
    gc.disable()
    name = f"figure5-{os.getpid()}@{address}"
    with Region.create(name, size=4 * max(sizes) + 65536) as region:
        Region.remove(name)
        for size in sizes:
            item, value = region.alloc(f"item-{size}", size), os.urandom(size)
            item.put(value)
            for operation, call in ((PUT, lambda item=item, value=value: item.put(value)), (GET, item.get)):
                times = []
                for _ in range(calls):
                    began = time.perf_counter_ns()
                    call()
                    times.append((time.perf_counter_ns() - began) / 1000)
                    time.sleep(_PERIOD)
                print(json.dumps((operation, size, times)))


if __name__ == "__main__":
    _client(sys.argv[1], int(sys.argv[2]), int(sys.argv[3]), [int(size) for size in sys.argv[4:]])
