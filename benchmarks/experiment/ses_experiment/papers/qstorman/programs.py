"""Real programs, placed and not: all at the same moment, each of a user, on branches of different speeds.

In each round every arm runs the same mix (:mod:`.program_rows`).  A program's time ends when its files are on
their devices.
"""

from __future__ import annotations

import shutil
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from random import Random
from typing import Any

from ses.demo.interrupts import Interrupts

from ses_experiment.arms import PRODUCT, Arm
from ses_experiment.machine import load, machine, settings
from ses_experiment.papers.qstorman.needs import RATES
from ses_experiment.papers.qstorman.program_rows import ROWS, make_inputs
from ses_experiment.site import Shape, Stand, stand_up
from ses_experiment.writers import Programs

BASELINES = ("rand", "mfs", "lus", "pfrd")  # policies of the union
_HOMES = "programs"
_LIMIT_SECONDS = 300.0


@dataclass(frozen=True, slots=True)
class Plan:
    """What is run."""

    rounds: int = 10
    baselines: tuple[str, ...] = ("rand", "mfs")
    threads: int = 16
    seed: int = 1
    build: Path | None = None

    def shape(self) -> Shape:
        """Return the branches."""
        return Shape(branches=len(RATES), rates=RATES, capacity=400, threads=self.threads)

    @property
    def requirement(self) -> str:
        """What placed programs ask for."""
        return f"read>={max(RATES)}MB/s write>={max(RATES)}MB/s"


@dataclass(frozen=True, slots=True)
class Round:
    """One round of an arm: seconds of each program, in the order of the rows."""

    number: int
    arm: str
    seconds: tuple[float, ...]
    load: float


def measure(
    plan: Plan, interrupts: Interrupts, progress: Callable[[str], None]
) -> tuple[list[Round], dict[str, Any]]:
    """Run all rounds and undo everything that was made, however it ends; raises DemoError, StoppedError.

    Returns the rounds, and what is known of settings and machine.
    """
    on, arm, chance = machine(), Arm(PRODUCT, agent=()), Random(plan.seed)
    known = settings(plan, rates=RATES)
    played = []
    with interrupts.undoing(progress) as undo:
        stand = stand_up(plan.shape(), [arm], plan.build, undo, interrupts, progress)
        progress("making inputs")
        make_inputs(stand.work / "inputs", plan.seed)
        for number in range(1, plan.rounds + 1):
            for name in chance.sample((PRODUCT, *plan.baselines), 1 + len(plan.baselines)):
                progress(f"round {number} of {plan.rounds}: {name}")
                played.append(_play(plan, stand, number, name, stand.environment(arm)))
    return played, {"settings": known, "machine": on}


def _play(plan: Plan, stand: Stand, number: int, name: str, library: dict[str, str]) -> Round:
    stand.wait_idle()
    stand.place_by("rand" if name == PRODUCT else name)
    before = load()
    environment = {**library, "SES_REQUIRE": plan.requirement} if name == PRODUCT else {}
    with Programs(stand.work, stand.interrupts) as programs:
        for user, row in enumerate(ROWS):
            home = stand.storage.union / stand.home(_HOMES, user)
            programs.start(row.command(stand.work / "inputs"), user, {**environment, "HOME": str(home)}, home)
        seconds = programs.wait(_LIMIT_SECONDS)
    for branch in stand.storage.branches:
        shutil.rmtree(branch.directory / _HOMES)
    return Round(number, name, tuple(seconds), before)
