"""Users with unequal needs on unequal branches: what part of their files gets what it needs, by arm.

Each user writes files one after another, with pauses: every other four take no more than they need, the
others all they get.  Arms take turns, in another order each round, with the same chance in all of a round.
``roundrobin`` and ``least-open`` name the branch themselves, over a union of that branch alone.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from random import Random
from statistics import fmean
from typing import Any

from ses.demo.faults import DemoError
from ses.demo.interrupts import Interrupts

from ses_experiment.arms import PRODUCT, Arm
from ses_experiment.machine import load, machine, settings
from ses_experiment.site import Shape, Stand, stand_up
from ses_experiment.writers import Programs

RATES = (22, 22, 15, 15, 8, 8, 4, 4)  # MB/s of the branches: those of the simulation, a quarter
NEEDS = (2.5, 5.0, 7.5, 17.5)  # MB/s
BASELINES = {"rand": "rand", "mfs": "mfs", "roundrobin": None, "least-open": None}  # policies of the union
MET = 0.97  # of the rate: the clocks of programs that take no more than they need are not exact
NEARLY = 0.8
_LATER = 180.0  # seconds for the last files to end, of many users on the slowest branch

# Its argument: JSON, see Users.argument(). Prints the rates of its files, MB/s, to standard error.
_WRITER = """
import fcntl, json, os, random, sys, time
wanted = json.loads(sys.argv[1])
chance, block, rates = random.Random(wanted["seed"]), bytes(1 << 20), []
end = time.monotonic() + wanted["seconds"]
def count(by, branch=None):
    with open(wanted["counts"], "r+") as file:
        fcntl.flock(file, fcntl.LOCK_EX)
        counts = json.load(file)
        if branch is None:
            branch = chance.choice([at for at, files in enumerate(counts) if files == min(counts)])
        counts[branch] += by
        file.seek(0)
        file.write(json.dumps(counts).ljust(400))
    return branch
pause = chance.uniform(0, wanted["pause"])
while time.monotonic() + pause < end:
    time.sleep(pause)
    branch = count(1) if wanted["counts"] else 0
    path = wanted["places"][branch] + f"/{len(rates)}.dat"
    begin = time.monotonic()
    file = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_DSYNC, 0o644)
    for number in range(wanted["blocks"]):
        os.write(file, block)
        if wanted["paced"]:
            time.sleep(max(0, begin + (number + 1) * 1.048576 / wanted["need"] - time.monotonic()))
    os.close(file)
    rates.append(wanted["blocks"] * 1.048576 / (time.monotonic() - begin))
    os.unlink(path)
    if wanted["counts"] and wanted["ends"]:
        count(-1, branch)
    pause = chance.expovariate(1 / wanted["pause"])
print(json.dumps(rates), file=sys.stderr)
"""


@dataclass(frozen=True, slots=True)
class Plan:
    """What is run.  A user writes for about ``busy`` seconds at its need, and pauses as long on average.

    ``alike``: each arm also with users who all need the same, so much that together they need as much.
    """

    users: int = 12
    rounds: int = 5
    seconds: int = 30
    baselines: tuple[str, ...] = tuple(BASELINES)
    busy: float = 4.0
    threads: int = 16
    seed: int = 1
    build: Path | None = None
    alike: bool = False

    def shape(self) -> Shape:
        """Return the branches."""
        return Shape(branches=len(RATES), rates=RATES, capacity=100 * self.users, threads=self.threads)

    def need(self, user: int, alike: bool = False) -> float:
        """Return what a user needs, MB/s."""
        return fmean(NEEDS) if alike else NEEDS[user % len(NEEDS)]


@dataclass(frozen=True, slots=True)
class Round:
    """One round of an arm: the rates of each user's files, MB/s; ``alike``: all needed the same."""

    number: int
    arm: str
    rates: tuple[tuple[float, ...], ...]
    load: float
    alike: bool = False


@dataclass(frozen=True, slots=True)
class Attained:
    """Parts of the files that got the rate they need, and four fifths of it; ``worst``: of the worst user."""

    files: int
    met: float
    nearly: float
    worst: float


def attained(plan: Plan, played: Round) -> Attained:
    """Return what a round of an arm attained."""
    parts = [
        [rate / plan.need(user, played.alike) for rate in rates]
        for user, rates in enumerate(played.rates)
        if rates
    ]
    if not parts:
        raise DemoError("No user wrote a file in the time; take more --seconds.")
    files = [part for of_user in parts for part in of_user]
    return Attained(
        len(files),
        fmean(part >= MET for part in files),
        fmean(part >= NEARLY for part in files),
        min(fmean(part >= MET for part in of_user) for of_user in parts),
    )


def measure(
    plan: Plan, interrupts: Interrupts, progress: Callable[[str], None]
) -> tuple[list[Round], dict[str, Any]]:
    """Run all rounds and undo everything that was made, however it ends; raises DemoError, StoppedError.

    Returns the rounds, and what is known of settings and machine.
    """
    on, arm, chance = machine(), Arm(PRODUCT, agent=()), Random(plan.seed)
    known = settings(plan, rates=RATES, needs=NEEDS)
    played = []
    with interrupts.undoing(progress) as undo:
        stand = stand_up(plan.shape(), [arm], plan.build, undo, interrupts, progress)
        single = stand.mount_each(plan.shape().union_options, undo)
        for number in range(1, plan.rounds + 1):
            names = [
                (name, alike)
                for name in (PRODUCT, *plan.baselines)
                for alike in (False, True)[: 1 + plan.alike]
            ]
            for name, alike in chance.sample(names, len(names)):
                needs = "the same needs" if alike else "other needs"
                progress(f"round {number} of {plan.rounds}: {name}, {needs}")
                played.append(_play(plan, stand, number, name, stand.environment(arm), alike, single))
    return played, {"settings": known, "machine": on}


def _play(
    plan: Plan, stand: Stand, number: int, name: str, library: Mapping[str, str], alike: bool, single: str
) -> Round:
    stand.wait_idle()
    stand.place_by(BASELINES.get(name) or "rand")
    busy = load()
    named = name in BASELINES and BASELINES[name] is None
    counts = stand.work / "counts"
    counts.write_text(json.dumps([0] * len(RATES)))
    counts.chmod(0o666)
    with Programs(stand.work, stand.interrupts) as programs:
        for user in range(plan.users):
            home, need = stand.home("needs", user), plan.need(user, alike)
            unions = [f"{single}{branch}" for branch in range(1, len(RATES) + 1)]
            argument = {
                "places": [f"{union}/{home}" for union in (unions if named else [stand.storage.union])],
                "counts": str(counts) if named else "", "ends": name == "least-open", "need": need,
                "blocks": max(1, round(need * plan.busy)), "paced": user // len(NEEDS) % 2 == 1,
                "pause": plan.busy, "seconds": plan.seconds, "seed": f"{plan.seed} {number} {user}",
            }  # fmt: skip
            environment = {**library, "SES_REQUIRE": f"write>={need}MB/s"} if name == PRODUCT else {}
            programs.start(
                ["python3", "-I", "-c", _WRITER, json.dumps(argument)], user, environment, stand.work
            )
        programs.wait(plan.seconds + _LATER)
        rates = tuple(_rates(program.errors.read_text("utf-8")) for program in programs.running)
    return Round(number, name, rates, busy, alike)


def _rates(output: str) -> tuple[float, ...]:
    return tuple(json.loads(output.splitlines()[-1]))


def compared(
    plan: Plan, rounds: Sequence[Round], name: str, alike: bool = False
) -> list[tuple[Attained, Attained]]:
    """Return what the product and another arm attained, round by round."""
    of_arm = {
        (round_.arm, round_.number): attained(plan, round_) for round_ in rounds if round_.alike == alike
    }
    return [
        (of_arm[PRODUCT, number], of_arm[name, number])
        for number in sorted({round_.number for round_ in rounds})
        if (PRODUCT, number) in of_arm and (name, number) in of_arm
    ]


def more_ahead(plan: Plan, rounds: Sequence[Round], name: str) -> list[float]:
    """Return by how much more files' needs are met, ahead of an arm, where needs differ than where not."""
    ahead = (
        [placed.met - baseline.met for placed, baseline in compared(plan, rounds, name, alike)]
        for alike in (False, True)
    )
    return [differ - same for differ, same in zip(*ahead, strict=False)]
