"""The paper's Table 1 live: users who read, compute and write at the same time, on throttled branches.

Eight alike branches.  Arms (:mod:`.schedule`) take turns and share their chance; others
(:mod:`ses_experiment.background`) may keep branches busy.  Baselines of mergerfs place by the union's own
policy; round robin and managers name the branch themselves, over a union of that branch alone, so that every
file takes the same way through FUSE.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

from ses.demo.interrupts import Interrupts
from ses.demo.parts import find_parts

from ses_experiment import background
from ses_experiment.arms import PRODUCT, Arm
from ses_experiment.machine import machine, product
from ses_experiment.papers.qstorman.results import Result, Results
from ses_experiment.papers.qstorman.schedule import KINDS, ROUND_ROBIN, Run, runs
from ses_experiment.papers.qstorman.table1_run import LEAD_SECONDS, Table1Runner
from ses_experiment.papers.qstorman.table1_users import FULL, Form
from ses_experiment.site import Shape, stand_up

_IDLE_SECONDS = 4.5  # about what it takes until the monitor sees idle branches again; for the estimate
_LONGER = {"none": 1.3, "uniform": 1.6, "skewed": 2.1}  # than a lone user, roughly; for the estimate


@dataclass(frozen=True, slots=True)
class Plan:
    """What is run.  ``agent``: further options of ses-agent."""

    users: tuple[int, ...] = (6, 8, 10)
    backgrounds: tuple[str, ...] = tuple(background.LOADS)
    baselines: tuple[str, ...] = ("random", ROUND_ROBIN)
    kinds: tuple[str, ...] = KINDS
    repeats: int = 5
    form: Form = FULL
    agent: tuple[str, ...] = ()
    threads: int = 16
    seed: int = 1
    build: Path | None = None
    shape: Shape = field(init=False)

    def __post_init__(self) -> None:
        room = int(max(self.users) * 2 * max(self.form.bytes) / 1e6 * 1.1) + 200
        shape = Shape(
            read_rate=self.form.read_rate,
            write_rate=self.form.write_rate,
            capacity=room,
            threads=self.threads,
        )
        object.__setattr__(self, "shape", shape)

    @property
    def requirement(self) -> str:
        """What supported users ask for: the rates of an idle branch, as in the paper."""
        return f"read>={self.shape.read_rate}MB/s write>={self.shape.write_rate}MB/s"

    def runs(self) -> list[Run]:
        """Return all runs in order."""
        return list(runs(self.users, self.backgrounds, self.baselines, self.repeats, self.seed, self.kinds))

    def estimate(self, todo: Sequence[Run]) -> float:
        """Return about how many seconds runs take."""
        return sum(
            LEAD_SECONDS + _IDLE_SECONDS
            + self.form.ideal_seconds * (1.0 if run.kind == "lone" else _LONGER[run.background])
            for run in todo
        )  # fmt: skip

    def settings(self) -> dict[str, Any]:
        """Return what all runs have in common: runs under other settings cannot be compared."""
        shape = {name: value for name, value in asdict(self.shape).items() if name != "capacity"}
        return {
            "shape": shape, "union_options": self.shape.union_options, "form": asdict(self.form),
            "loads": {name: list(loads) for name, loads in background.LOADS.items()},
            "requirement": self.requirement, "agent": list(self.agent), "seed": self.seed,
            "lead_seconds": LEAD_SECONDS, "product": product(find_parts(self.build)),
        }  # fmt: skip


def measure(
    plan: Plan, file: Path, interrupts: Interrupts, progress: Callable[[str], None]
) -> tuple[Results[Result], dict[str, Any]]:
    """Run what is not yet in ``file`` and undo everything that was made, however it ends.

    Returns the results and what is known of the machine.  Raises DemoError, StoppedError, and what
    Results raises.
    """
    host = machine()
    results = Results(file, plan.settings(), host, Result.of_json)
    todo = [run for run in plan.runs() if run not in results]
    if results.others:
        progress(f"{results.others} runs in {file} are of other settings or another build, and do not count")
    if not todo:
        return results, host
    progress(f"{len(todo)} runs to do, about {plan.estimate(todo) / 60:.0f} minutes; results go to {file}")
    arm = Arm(PRODUCT, agent=plan.agent)
    with interrupts.undoing(progress) as undo:
        stand = stand_up(plan.shape, [arm], plan.build, undo, interrupts, progress)
        progress("writing what is read first")
        runner = Table1Runner(stand, arm, plan.form, plan.shape, plan.requirement, plan.seed, undo)
        begun = time.monotonic()
        for number, run in enumerate(todo):
            left = plan.estimate(todo[number:])
            if number:  # what was done is a better guide than the estimate
                left *= (time.monotonic() - begun) / plan.estimate(todo[:number])
            progress(f"run {number + 1} of {len(todo)}, about {left / 60:.0f} min left: {_run_words(run)}")
            results.add(runner.play(run))
    return results, host


def _run_words(run: Run) -> str:
    if run.kind == "lone":
        return "one user alone, " + ("with the library" if run.supported else "without it")
    who = {"half": "half supported", "all": "all supported", "none": "none supported"}[run.kind]
    return (
        f"{run.users} users, {who}{', ' + run.baseline if run.baseline else ''}, background {run.background}"
    )
