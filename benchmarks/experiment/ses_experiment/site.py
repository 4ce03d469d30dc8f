"""Where experiments run: alike branches under one mergerfs union, and the whole chain beside it.

The union keeps nothing in the page cache (``cache.files=off``) and lets the branches forget a file
when it is closed (``dropcacheonclose``), so reading a file goes to its device.  It has more threads
than its default, which would serialise writers.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping, Sequence
from contextlib import ExitStack
from dataclasses import dataclass, field
from pathlib import Path

from ses.demo.branches import BranchPlan
from ses.demo.busy import utilisation
from ses.demo.chain import Services, start_agent, start_services
from ses.demo.faults import DemoError
from ses.demo.interrupts import Interrupts
from ses.demo.parts import Parts, find_parts
from ses.demo.storage import Storage, mount_union, set_up
from ses.demo.work import need_root, work_directory
from ses.literal import PREFIXES, quantity

from ses_experiment.arms import Arm

READ_RATE, WRITE_RATE = 25, 15  # MB/s: slow enough that two processors keep eight branches busy
RATES = (READ_RATE * 1e6, WRITE_RATE * 1e6)
FIRST_USER = 61000  # numbers without accounts: users of their own
_IDLE_SHARE = 0.1
_IDLE_SECONDS = 60.0
HEAD = f"{PREFIXES}\n@prefix : <https://w3id.org/qstorman/site/experiment/> .\n"


@dataclass(frozen=True, slots=True)
class Shape:
    """The branches: rates MB/s, capacity MB.  ``threads`` and further ``options`` are those of the union.

    They are alike, or each reads and writes at its own of ``rates``.
    """

    branches: int = 8
    read_rate: int = READ_RATE
    write_rate: int = WRITE_RATE
    capacity: int = 600
    threads: int = 16
    rates: tuple[int, ...] = ()
    options: str = ""

    def plans(self) -> tuple[BranchPlan, ...]:
        """Return what the storage is made from."""
        return tuple(
            BranchPlan(f"b{number + 1}", reads, writes, self.capacity, self.capacity)
            for number, (reads, writes) in enumerate(self._rates)
        )

    @property
    def _rates(self) -> list[tuple[int, int]]:
        return [(rate, rate) for rate in self.rates] or [(self.read_rate, self.write_rate)] * self.branches

    @property
    def union_options(self) -> str:
        """Options of mergerfs."""
        further = f",{self.options}" if self.options else ""
        return f"threads={self.threads},cache.files=off,dropcacheonclose=true{further}"


@dataclass(frozen=True, slots=True)
class Stand:
    """Everything that stands while an experiment runs.  ``sockets``: of each arm's agents, a node each."""

    work: Path
    storage: Storage
    services: Services
    interrupts: Interrupts
    sockets: Mapping[str, Sequence[Path]] = field(default_factory=dict)

    def environment(self, arm: Arm, number: int = 0) -> dict[str, str]:
        """Return what a program of an arm is run with; numbers go round the nodes."""
        sockets = self.sockets.get(arm.name)
        return self.services.preloaded(sockets[number % len(sockets)]) if sockets else {}

    def home(self, group: str, user: int) -> str:
        """Make a directory for a user on every branch; returns its path below the union.

        It is on all branches, as the home of somebody who has worked there for long.
        """
        name = f"{group}/u{user}"
        for branch in self.storage.branches:
            directory = branch.directory / name
            directory.mkdir(parents=True, exist_ok=True)
            os.chown(directory, FIRST_USER + user, FIRST_USER + user)
        return name

    def mount_each(self, union_options: str, undo: ExitStack) -> str:
        """Mount a union of each branch alone; returns their mount points without the number, from 1 on."""
        single = self.work / "single-"
        for number, directory in enumerate(self.storage.directories, 1):
            mount_union(Path(f"{single}{number}"), [directory], undo, union_options)
        return str(single)

    def place_by(self, policy: str) -> None:
        """Let the union create files by one of its own policies from now on."""
        os.setxattr(self.storage.union / ".mergerfs", "user.mergerfs.category.create", policy.encode())

    def wait_idle(self) -> None:
        """Wait until the monitor sees every branch idle; raises DemoError when it does not."""
        client = self.services.client()

        def idle() -> bool:
            self.services.processes.check()
            elements = client.elements().elements
            shares = [utilisation(element) for element in elements]
            return all(share is not None and share < _IDLE_SHARE for share in shares)

        self.interrupts.until(idle, _IDLE_SECONDS, "The monitor does not see every branch idle")


def stand_up(
    shape: Shape,
    arms: Sequence[Arm],
    build: Path | None,
    undo: ExitStack,
    interrupts: Interrupts,
    progress: Callable[[str], None],
    nodes: int = 1,
) -> Stand:
    """Make the storage and start the services, and agents of ``nodes`` for each supported arm.

    What it takes to undo that goes onto ``undo``.  Raises DemoError.
    """

    def step(text: str) -> None:
        interrupts.check()
        progress(text)

    need_root("The experiment", "ses experiment")
    parts = find_parts(build)
    work = work_directory(undo, "qstorman-experiment-")
    storage = set_up(work, undo, step, shape.plans(), shape.union_options)
    for note in storage.notes:
        step(note)
    if not storage.throttled:
        raise DemoError(
            "The speeds of the branches cannot be limited here, so nothing can be learned: "
            + "; ".join(storage.notes)
        )
    step("starting the services")
    site = work / "site.ttl"
    site.write_text(site_description(shape, work), "utf-8")
    services = start_services(work, parts, site, storage.branches, undo, interrupts)
    services.processes.wait_ready()
    sockets = _start_agents(work, parts, services, arms, nodes)
    stand = Stand(work, storage, services, interrupts, sockets)
    stand.wait_idle()
    return stand


def _start_agents(
    work: Path, parts: Parts, services: Services, arms: Sequence[Arm], nodes: int
) -> dict[str, list[Path]]:
    """Start the agents of each supported arm, each as a node of its own."""
    sockets = {}
    for arm in arms:
        if arm.agent is not None:
            names = [arm.name if number == 0 else f"{arm.name}-{number + 1}" for number in range(nodes)]
            sockets[arm.name] = [
                start_agent(work, parts, services, f"agent-{name}", ["--node", f"node-{name}", *arm.agent])
                for name in names
            ]
    services.processes.wait_ready()
    return sockets


def site_description(shape: Shape, work: Path) -> str:
    """Return the Turtle description of the union and its branches below ``work``."""
    lines = [
        HEAD,
        f':union a qsm:MergerfsUnion ; qsm:name "union" ; qsm:mountPoint "{work}/union" .',
        ':server a qsm:Server ; qsm:name "server" .',
    ]
    lines += [branch_description(plan, work, "union") for plan in shape.plans()]
    return "\n".join(lines) + "\n"


def branch_description(plan: BranchPlan, work: Path, system: str) -> str:
    """Return the Turtle description of a branch of a union, which the description has, too."""
    return (
        f':{plan.name} a qsm:Branch ; qsm:name "{plan.name}" ; qsm:elementOf :{system} ; '
        f'qsm:servedBy :server ; qsm:target "{work}/{plan.name}" ;\n'
        f"  qsm:capacity {quantity(plan.capacity, 'MegaBYTE')} ;\n"
        f"  qsm:nominalReadRate {quantity(plan.read_rate, 'MegaBYTE-PER-SEC')} ;\n"
        f"  qsm:nominalWriteRate {quantity(plan.write_rate, 'MegaBYTE-PER-SEC')} ."
    )
