"""Figure 6 of OSU-CISRC-8/07-TR53: a select of STORM and checkpoints over shared values of four nodes.

The records of the select lie on all four nodes, in turn; a fifth asks.  The four processes that checkpoint
are each on a node of their own; the recovery line and the states lie on the first.  Both are the programs in
``libses/extras/examples/share``, compiled here.  They run with plain agents on all cores, and with the agents
on a core of their own, where the programs have one core less.
"""

from __future__ import annotations

import os
import re
import shlex
import statistics
import subprocess
from collections.abc import Callable, Sequence
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path

from ses.demo.faults import DemoError
from ses.demo.interrupts import Interrupts
from ses.demo.processes import said, started
from ses.demo.tools import tool
from ses.demo.work import work_directory

from ses_experiment.papers.dedicated import cores
from ses_experiment.papers.share import PLAIN, POLLS, SLEEPS, options_of
from ses_experiment.papers.share_nodes import PORT, Nodes, set_up

NODES = 4
ARMS = (PLAIN, SLEEPS, POLLS)
_ROOT = Path(__file__).resolve().parents[4]
_EXAMPLES = _ROOT / "libses/extras/examples/share"
_QUERIES = 50
_LIMIT_SECONDS = 1800.0


@dataclass(frozen=True, slots=True)
class Select:
    """Milliseconds of a query over records on four nodes: the median over the rounds."""

    arm: str
    records: int
    query_ms: float


@dataclass(frozen=True, slots=True)
class Checkpoint:
    """A run of four processes, medians over the rounds: milliseconds in all, and of these synchronising."""

    arm: str
    model: str
    probability: float
    total_ms: float
    synchronising_ms: float
    checkpoint_us: float


def measure(
    agent: Path, records: Sequence[int], steps: int, rounds: int,
    interrupts: Interrupts, progress: Callable[[str], None],
) -> tuple[list[Select], list[Checkpoint]]:  # fmt: skip
    """Run both programs under each arm, in turns.  Raises DemoError."""
    mine = cores()
    selected: dict[tuple[str, int], list[float]] = {}
    saved: dict[tuple[str, str, float], list[tuple[float, ...]]] = {}
    with interrupts.undoing(progress) as undo:
        folder = work_directory(undo, "ses-share-programs-")
        for name in ("select", "checkpoint"):
            _compile(name, folder, agent.parents[2])
        stand = set_up(NODES + 1, "ses experiment share", agent, undo, interrupts)
        for turn in range(rounds):
            for arm in ARMS if turn % 2 == 0 else reversed(ARMS):
                with ExitStack() as run:
                    for node in stand.nodes[:NODES]:
                        stand.start_agent(node, run, *options_of(arm, mine.free))
                    used = mine.every if arm == PLAIN else mine.fewer
                    for count in records:
                        interrupts.check()
                        progress(f"select from {count} records, {arm}, round {turn + 1}")
                        selected.setdefault((arm, count), []).append(_select(stand, folder, count, used))
                    interrupts.check()
                    progress(f"checkpoints, {arm}, round {turn + 1}")
                    for model, probability, *times in _checkpoint(stand, folder, steps, used):
                        saved.setdefault((arm, str(model), float(probability)), []).append(
                            tuple(map(float, times))
                        )
    selects = [Select(*key, statistics.median(times)) for key, times in selected.items()]
    return selects, [
        Checkpoint(*key, *(statistics.median(column) for column in zip(*times, strict=True)))
        for key, times in saved.items()
    ]


def _compile(name: str, folder: Path, build: Path) -> None:
    files = ("-o", str(folder / name), str(_EXAMPLES / f"{name}.c"), f"-I{_ROOT}/libses/extras/include")
    tool("cc", "-O2", *files, f"-L{build}", "-lses-share", f"-Wl,-rpath,{build}")


def _select(stand: Nodes, folder: Path, records: int, used: frozenset[int]) -> float:
    addresses = [f"{node.address}:{PORT}" for node in stand.nodes[:NODES]]
    words = [*stand.nodes[NODES].inside, str(folder / "select"), str(records), str(_QUERIES), *addresses]
    match = re.search(r"([\d.]+) ms a query by shared memory", _run(stand, words, used))
    return float(match[1]) if match else 0.0


def _checkpoint(stand: Nodes, folder: Path, steps: int, used: frozenset[int]) -> list[tuple[str, ...]]:
    """Run the program on the first node, from where it starts the others: their columns, without reverts."""
    starts = " ".join(f"{number}) exec {shlex.join(node.inside)} \"$@\";;"
                      for number, node in enumerate(stand.nodes[:NODES]))  # fmt: skip
    command = f"case $0 in {starts} esac"
    first = stand.nodes[0]
    words = [
        *first.inside,
        str(folder / "checkpoint"),
        str(NODES),
        str(steps),
        f"{first.address}:{PORT}",
        command,
    ]
    lines = re.findall(r"^(strict|temporal)((?: +[\d.]+){5})$", _run(stand, words, used), re.MULTILINE)
    return [(model, *numbers.split()[:4]) for model, numbers in lines]


def _run(stand: Nodes, words: Sequence[str], used: frozenset[int]) -> str:
    with ExitStack() as undo:
        process = started(
            words, undo, env=stand.environment, text=True, stdout=subprocess.PIPE, stderr=subprocess.PIPE,
            preexec_fn=lambda: os.sched_setaffinity(0, used),
        )  # fmt: skip
        output: str
        output, errors = said(process, stand.interrupts, _LIMIT_SECONDS)
        if process.returncode != 0:
            raise DemoError(f"{words}: {(errors.splitlines() or ['it is not known why'])[-1]}")
        return output
