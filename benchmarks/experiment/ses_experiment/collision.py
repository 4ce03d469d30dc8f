"""Files created at almost the same moment: do they go to different branches?

N users start one ``dd`` each, a moment after each other, on equal idle branches; or one program of one
user (``tee``) creates N files at once.  Arms take turns, in another order each round.  Nothing here
knows how the product chooses: what counts is the branch that holds each file.
"""

from __future__ import annotations

import shlex
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import asdict, dataclass
from math import ceil
from pathlib import Path
from random import Random
from typing import Any

from ses.basepath import basepath
from ses.demo.faults import DemoError
from ses.demo.interrupts import Interrupts
from ses.demo.parts import find_parts

from ses_experiment.arms import Arm
from ses_experiment.machine import load, machine, product
from ses_experiment.site import WRITE_RATE, Shape, Stand, stand_up
from ses_experiment.verdict import Round, Summary, summaries, verdict
from ses_experiment.writers import Programs

PROCESSES = ("each", "one")
_MIB = 1 << 20
_OVERLAP = 1.5  # times as long as all starts take, a file takes alone
_SLOWEST = 20  # times as long as if all files lay on one branch, before a round is given up


@dataclass(frozen=True, slots=True)
class Plan:
    """What is run.  ``megabytes`` (MiB) per file at least, ``gap`` seconds between two starts."""

    arms: tuple[Arm, ...]
    writers: tuple[int, ...] = (8,)
    processes: tuple[str, ...] = ("each",)
    branches: int = 8
    rounds: int = 6
    megabytes: int = 24
    gap: float = 0.1
    nodes: int = 1
    threads: int = 16
    seed: int = 1
    build: Path | None = None

    def shape(self) -> Shape:
        """Return branches with room for all files of a round on one of them."""
        most = max(self.writers)
        room = int(most * max(self.size(most, process) for process in self.processes) * 1.2) + 64
        return Shape(branches=self.branches, capacity=max(300, room), threads=self.threads)

    def size(self, writers: int, process: str) -> int:
        """Return the MiB of each file: enough that the first is not closed before the last begins."""
        starts = writers if process == "each" else 1
        needed = _OVERLAP * starts * self.gap * WRITE_RATE * 1e6 / _MIB
        return max(self.megabytes, ceil(needed))


@dataclass(frozen=True, slots=True)
class Report:
    """Everything that a collision shows."""

    settings: dict[str, Any]
    machine: dict[str, Any]
    rounds: tuple[Round, ...]
    summaries: tuple[Summary, ...]
    holds: bool
    sentence: str

    def as_json(self) -> dict[str, Any]:
        """Return the report as JSON data."""
        return {
            "settings": self.settings,
            "machine": self.machine,
            "rounds": [round_.as_json() for round_ in self.rounds],
            "summary": [asdict(summary) for summary in self.summaries],
            "holds": self.holds,
            "verdict": self.sentence,
        }


@dataclass(frozen=True, slots=True)
class Turn:
    """One round of one arm, before it is run."""

    number: int
    process: str
    writers: int
    arm: Arm


def turns(plan: Plan) -> Iterator[Turn]:
    """Return the rounds in the order they run: arms take turns, shuffled anew each time."""
    chance = Random(plan.seed)
    for number in range(1, plan.rounds + 1):
        for process in plan.processes:
            for writers in plan.writers:
                for arm in chance.sample(plan.arms, len(plan.arms)):
                    yield Turn(number, process, writers, arm)


def collide(plan: Plan, interrupts: Interrupts, progress: Callable[[str], None]) -> Report:
    """Run a collision and undo everything it made, however it ends; raises DemoError, StoppedError."""
    todo = list(turns(plan))
    host = machine()
    rounds = []
    with interrupts.undoing(progress) as undo:
        stand = stand_up(plan.shape(), plan.arms, plan.build, undo, interrupts, progress, plan.nodes)
        for done, turn in enumerate(todo, 1):
            progress(
                f"round {turn.number} of {plan.rounds}: {turn.writers} files, {turn.arm.name} "
                f"({done} of {len(todo)})"
            )
            rounds.append(_play(plan, stand, turn))
    summarised = summaries(rounds, plan.branches)
    holds, sentence = verdict(summarised)
    return Report(_settings(plan), host, tuple(rounds), tuple(summarised), holds, sentence)


def _settings(plan: Plan) -> dict[str, Any]:
    shape = plan.shape()
    return {
        **{name: value for name, value in asdict(plan).items() if name not in ("arms", "build")},
        "arms": {arm.name: list(arm.agent) if arm.agent is not None else arm.policy for arm in plan.arms},
        "shape": asdict(shape),
        "union_options": shape.union_options,
        "product": product(find_parts(plan.build)),
    }


def _play(plan: Plan, stand: Stand, turn: Turn) -> Round:
    """Run one round on idle branches, look where its files are, and remove them."""
    stand.wait_idle()
    stand.place_by(turn.arm.policy)
    busy, size = load(), plan.size(turn.writers, turn.process)
    files = [
        stand.storage.union / stand.home(turn.arm.name, _owner(turn, number)) / f"{turn.number}-{number}.dat"
        for number in range(turn.writers)
    ]
    with Programs(stand.work, stand.interrupts) as programs:
        begun = time.monotonic()
        for number, argv in enumerate(commands(turn.process, files, size)):
            stand.interrupts.pause(max(0.0, begun + number * plan.gap - time.monotonic()))
            programs.start(argv, number, stand.environment(turn.arm, number), files[number].parent)
        alone = size * _MIB / (WRITE_RATE * 1e6)
        seconds = programs.wait(_SLOWEST * alone * turn.writers)
        last = time.monotonic() - begun
    branches = tuple(_branch(stand, file) for file in files)
    for file in files:
        file.unlink()
    return Round(
        turn.number, turn.arm.name, turn.arm.supported, turn.writers, turn.process, branches,
        tuple(seconds), last, busy,
    )  # fmt: skip


def _owner(turn: Turn, number: int) -> int:
    return 0 if turn.process == "one" else number


def commands(process: str, files: Sequence[Path], megabytes: int) -> list[list[str]]:
    """Return what is run: a ``dd`` for each file, or one ``tee`` that creates them all."""
    if process == "each":
        return [
            ["dd", "if=/dev/zero", f"of={file}", "bs=1M", f"count={megabytes}", "conv=fsync"]
            for file in files
        ]
    names = shlex.join(str(file) for file in files)
    script = f"head -c {megabytes}M /dev/zero | tee {names} >/dev/null && sync {names}"
    return [["sh", "-c", script]]


def _branch(stand: Stand, file: Path) -> str:
    where = basepath(file)
    if where is None:
        raise DemoError(f"The union does not say on which branch {file} is.")
    return stand.storage.branch_of(where)
