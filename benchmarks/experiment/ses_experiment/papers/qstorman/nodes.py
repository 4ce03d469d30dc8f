"""What a node for a task is worth (request A): jobs of a real Slurm on ranked nodes, and on others.

Two unions of four branches each; two nodes mount the one, two the other, and in each round others keep the
branches of one of them busy.  A job writes one file where its node can, under the library in every arm: arms
differ in the node alone.  ``ranked``: the first that the service ranks; ``random``: one of all; ``slurm``:
none is named, Slurm chooses.  Nodes are this machine, each with a slurmd and an agent of its own.
"""

from __future__ import annotations

import subprocess
import time
from collections.abc import Callable, Mapping, Sequence
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path
from random import Random
from typing import Any

from ses.demo.branches import BranchPlan
from ses.demo.chain import Services, start_services
from ses.demo.faults import DemoError
from ses.demo.interrupts import Interrupts
from ses.demo.parts import find_parts, find_plugin
from ses.demo.processes import started
from ses.demo.slurm.configuration import Layout
from ses.demo.slurm.daemons import need_slurm, start_cluster
from ses.demo.storage import mount_union, set_up
from ses.demo.work import need_root, work_directory
from ses.quantities import requirement
from ses_client.messages.requirements import Subject

from ses_experiment import background
from ses_experiment.machine import load, machine, settings
from ses_experiment.site import HEAD, RATES, WRITE_RATE, Shape, Stand, branch_description

RANKED, RANDOM, SLURM = "ranked", "random", "slurm"
ARMS = (RANKED, RANDOM, SLURM)
SIDES = {"west": ("n1", "n2"), "east": ("n3", "n4")}
NODES = tuple(node for nodes in SIDES.values() for node in nodes)
_BUSY = 0.7  # part of each branch that others keep busy, where they are
_LEAD_SECONDS = 4.0  # others are there before the first job, so that the monitor has seen them
_GAP_SECONDS = 1.5  # between two jobs
_LIMIT_SECONDS = 120.0
_JOB = """
case $SLURMD_NODENAME in {west}) side=west ;; *) side=east ;; esac
dd if=/dev/zero of={work}/$side/$1 bs=1M count={size} oflag=dsync status=none && echo $SLURMD_NODENAME
"""


@dataclass(frozen=True, slots=True)
class Plan:
    """What is run: ``jobs`` of each arm in a round, of ``size`` MiB each."""

    rounds: int = 10
    jobs: int = 4
    size: int = 30
    seed: int = 1
    build: Path | None = None


@dataclass(frozen=True, slots=True)
class Round:
    """Jobs of an arm: what each took from submission to end, and where; ``busy``: the others' side."""

    number: int
    arm: str
    busy: str
    seconds: tuple[float, ...]
    nodes: tuple[str, ...]
    load: float

    @property
    def avoided(self) -> int:
        """How many jobs ran on nodes of the side that was not busy."""
        return sum(node not in SIDES[self.busy] for node in self.nodes)


def measure(
    plan: Plan, interrupts: Interrupts, progress: Callable[[str], None]
) -> tuple[list[Round], dict[str, Any]]:
    """Run all rounds and undo everything that was made, however it ends; raises DemoError, StoppedError.

    Returns the rounds, and what is known of settings and machine.
    """
    need_root("The experiment", "ses experiment")
    need_slurm()
    chance, known = Random(plan.seed), settings(plan)
    on = machine(("slurmctld", "-V"))
    played = []
    with interrupts.undoing(progress) as undo:
        stand, environment = _stand_up(plan, undo, interrupts, progress)
        for number in range(1, plan.rounds + 1):
            busy = chance.choice(tuple(SIDES))
            for arm in chance.sample(ARMS, len(ARMS)):
                progress(f"round {number} of {plan.rounds}: {arm}, {busy} busy")
                played.append(_play(plan, stand, environment, number, arm, busy))
    return played, {"settings": known, "machine": on}


def _stand_up(
    plan: Plan, undo: ExitStack, interrupts: Interrupts, progress: Callable[[str], None]
) -> tuple[Stand, Mapping[str, str]]:
    """Make two unions, services, agents and a Slurm; returns them, and what commands of Slurm need."""
    parts, plugin = find_parts(plan.build), find_plugin(plan.build)
    shape = Shape(capacity=plan.jobs * plan.size * 2 + 100)
    work = work_directory(undo, "qstorman-experiment-")
    storage = set_up(work, undo, progress, shape.plans(), shape.union_options)
    if not storage.throttled:
        raise DemoError("The speeds of the branches cannot be limited here: " + "; ".join(storage.notes))
    systems = {plan.name: side for side, plans in _branches(shape).items() for plan in plans}
    for side in SIDES:
        mine = [branch.directory for branch in storage.branches if systems[branch.name] == side]
        mount_union(work / side, mine, undo, shape.union_options)
        (work / side).chmod(0o1777)
    background.prepare(storage.directories, plan.size)
    progress("starting the services")
    site = work / "site.ttl"
    site.write_text(_description(shape, work), "utf-8")
    services = start_services(work, parts, site, storage.branches, undo, interrupts, systems)
    progress("starting Slurm, with an agent on each node")
    layout = Layout("nodes", dict.fromkeys(NODES, "thin"), {side: ",".join(SIDES[side]) for side in SIDES})
    environment = start_cluster(work, layout, parts, plugin, "jobs=all", services, undo)
    return Stand(work, storage, services, interrupts), environment


def _branches(shape: Shape) -> dict[str, Sequence[BranchPlan]]:
    plans = shape.plans()
    return {"west": plans[: len(plans) // 2], "east": plans[len(plans) // 2 :]}


def _description(shape: Shape, work: Path) -> str:
    lines = [HEAD, ':server a qsm:Server ; qsm:name "server" .']
    for side, plans in _branches(shape).items():
        lines += [
            f':{side} a qsm:MergerfsUnion ; qsm:name "{side}" ; qsm:mountPoint "{work}/{side}" .',
            f':{side}-nodes a qsm:NodeClass ; qsm:name "{side}-nodes" ; '
            f'qsm:nodes "{",".join(SIDES[side])}" ; qsm:hasAccess :{side} .',
            *(branch_description(plan, work, side) for plan in plans),
        ]
    return "\n".join(lines) + "\n"


def _play(
    plan: Plan, stand: Stand, environment: Mapping[str, str], number: int, arm: str, busy: str
) -> Round:
    stand.wait_idle()
    before, chance = load(), Random(f"{plan.seed} {number}")
    loads = [_BUSY * (side == busy) for side, plans in _branches(Shape()).items() for _ in plans]
    streams = background.schedule(loads, RATES, 4 * plan.size * 1e6, _LIMIT_SECONDS, chance)
    script = _JOB.format(west="|".join(SIDES["west"]), work=stand.work, size=plan.size)
    ended: list[tuple[float, str]] = []
    with (
        background.playing(streams, stand.storage.directories, stand.work, time.monotonic()),
        ExitStack() as undo,
    ):
        stand.interrupts.pause(_LEAD_SECONDS)
        running = []
        for job in range(plan.jobs):
            stand.interrupts.pause(_GAP_SECONDS if job else 0.0)
            named = {RANKED: lambda: _first(stand.services), RANDOM: lambda: chance.choice(NODES)}.get(arm)
            begun = time.monotonic()
            where = [f"--nodelist={named()}"] if named else []
            process = started(
                ["srun", "--ntasks=1", *where, "sh", "-c", script, "job", f"{number}-{arm}-{job}"], undo,
                env=dict(environment), stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, cwd="/",
            )  # fmt: skip
            running.append((begun, process))
        while len(ended) < plan.jobs:
            stand.interrupts.pause(0.05)
            if time.monotonic() > running[-1][0] + _LIMIT_SECONDS:
                raise DemoError("A job did not end.")
            for entry in [entry for entry in running if entry[1].poll() is not None]:
                running.remove(entry)
                printed, said = entry[1].communicate()
                if entry[1].returncode:
                    raise DemoError(f"A job failed: {said.strip()}")
                ended.append((time.monotonic() - entry[0], printed.strip()))
    for side in SIDES:
        for file in (stand.work / side).glob(f"{number}-{arm}-*"):
            file.unlink()
    return Round(
        number, arm, busy, tuple(took for took, _ in ended), tuple(node for _, node in ended), before
    )


def _first(services: Services) -> str:
    """Return the node that the service ranks first."""
    wanted = [requirement(f"write>={WRITE_RATE}MB/s")]
    candidates = services.client().select_nodes(Subject(user="root"), wanted, limit=1).candidates
    if not candidates:
        raise DemoError("The service ranks no node for a job.")
    return candidates[0].node
