"""The experiment of ORCA: five programs beside the disks of a storage node, against reading over the network.

For each program, size and number of clients of the storage node: what ``ses run-near`` would decide, the time
of both ways, and the bytes on the wire.  Near, N programs run at once: they share the node's processors and
its link, and the slowest counts.  Each has a disk of its own, or an N-th of one disk's rate (then nothing is
to be gained where that disk is no faster than the link).  Over the network, one client runs with an N-th of
the link: clients have processors of their own, which one machine does not have for them.  Caches are cold,
which is verified before each run; outputs are compared byte for byte.
"""

from __future__ import annotations

import hashlib
import itertools
import os
import random
import subprocess
import time
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import asdict, dataclass, field, replace
from functools import partial
from pathlib import Path
from typing import Any

from ses.demo.branches import BranchPlan
from ses.demo.faults import DemoError
from ses.demo.interrupts import Interrupts
from ses.demo.work import need_root, work_directory
from ses.near.execution.conversation import Conversation
from ses.near.placing import Site
from ses.near.run_near import Plan, Wanted, plan

from ses_experiment.machine import load, machine
from ses_experiment.papers import scan, server
from ses_experiment.papers.storage_node import KINDS, Series, StorageNode
from ses_experiment.remote_storage import ADDRESS, RemoteStorage, set_up

_ALONE_SECONDS = 3.0
TOLERANCE = 0.10
"""A decision is right if what it chose takes at most this much longer than the other way."""
# Words, and the blocks of 10,000 lines that have them.
_INDEX = """awk '{ block = int(NR / 10000) + 1
  for (i = 1; i <= NF; i++) if (seen[$i] != block) { seen[$i] = block; blocks[$i] = blocks[$i] " " block } }
  END { for (word in blocks) print word blocks[word] }' "$0" | LC_ALL=C sort"""
PROGRAMS = {
    "grep": ("grep", "needle", "{}"),
    "wc": ("sh", "-c", "wc -w < $0", "{}"),
    "sort": ("sort", "-S", "64M", "{}"),
    "index": ("sh", "-c", _INDEX, "{}"),
}
FURTHER = {
    "count": ("grep", "-c", "w00001", "{}"),
    "cut": ("cut", "-d ", "-f1-6", "{}"),
    "digest": ("sh", "-c", "sha256sum <$0", "{}"),
    "gzip": ("sh", "-c", "gzip -1 <$0", "{}"),
    "cat": ("cat", "{}"),
    "tail": ("sh", "-c", "tail -n +2 $0 | tail -n 100", "{}"),
    "sum": ("awk", "{ words += NF } END { print words }", "{}"),
    "replace": ("sed", "s/needle/thread/", "{}"),
}
"""More programs, for more decisions: from those that return nothing to those that return everything."""
SCAN = "scan"
"""By PostgreSQL, where that is installed: its command is made with its database."""
SERVER = "server"
"""Queries of a server of PostgreSQL, whose tables say where they are read: there is nothing to decide."""
_NO_SCAN = "The scan cannot be run: PostgreSQL is not installed (apt-get install postgresql)"
_LINES = 200_000
_SELECTED = 0.002  # of the lines hold the needle


@dataclass(frozen=True, slots=True)
class Cell:
    """One program, size (MB), kind of storage node, link (Mb/s) and number of clients.

    ``choice``: ``near``, ``here``, or nothing where there is none.  Of one client: bytes on the wire, and CPU
    seconds on the storage node in the last run there.  ``series``: what the node did in the last run of each
    way.  ``service``: MB/s of the node's other service alone and beside each way, if that was asked for.
    """

    program: str
    megabytes: int
    kind: str
    link: int
    clients: int
    choice: str
    reason: str
    near_seconds: float
    here_seconds: float
    near_predicted: float | None
    here_predicted: float | None
    near_wire: int
    here_wire: int
    near_cpu: float
    same_output: bool
    load: float
    series: dict[str, Series] = field(default_factory=dict)
    service: dict[str, float] = field(default_factory=dict)

    @property
    def right(self) -> bool:
        """Tell whether the choice was at most the tolerance slower than the other way."""
        chosen, other = self.near_seconds, self.here_seconds
        if self.choice == "here":
            chosen, other = other, chosen
        return chosen <= other * (1 + TOLERANCE)


@dataclass(frozen=True, slots=True)
class Grid:
    """What is run; ``repeats`` of each cell, of which the fastest of each way counts.

    ``shared_disk``: clients share a disk's rate; else each has a disk of its own.  ``service``: whether to
    measure what the node's other service loses, in runs of their own.
    """

    programs: tuple[str, ...] = (*PROGRAMS, SCAN)
    sizes: tuple[int, ...] = (64, 256, 512)
    clients: tuple[int, ...] = (1, 2, 4, 8)
    repeats: int = 3
    shared_disk: bool = False
    kinds: tuple[str, ...] = ("alike",)
    links: tuple[int, ...] = (1000,)
    service: bool = False


SHORT = Grid(sizes=(64,), repeats=1)


def measure(
    grid: Grid, build: Path | None, interrupts: Interrupts, progress: Callable[[str], None]
) -> list[Cell]:
    """Run the grid and undo all it made, however it ends; raises DemoError, StoppedError."""
    need_root("The experiment", "ses experiment orca")
    single = scan.installed() if SCAN in grid.programs else None
    if grid.programs == (SCAN,) and single is None:
        raise DemoError(f"{_NO_SCAN}, and nothing else is asked for.")
    with interrupts.undoing(progress) as undo:
        work = work_directory(undo, "ses-orca-")
        commands = PROGRAMS | FURTHER
        if single:
            commands[SCAN] = scan.prepare(work, single, max(grid.clients))
        elif SCAN in grid.programs:
            progress(f"{_NO_SCAN}: it is left out")
        places = server.find(build) if SERVER in grid.programs else None
        room = (3 if SERVER in grid.programs else 2) * sum(grid.sizes) + 64
        rate = int(KINDS["alike"].disk_rate)
        disks = [BranchPlan(disk, rate, rate, room, room) for disk in _disks(grid)]
        stand = set_up(work, disks[:1], undo, interrupts, progress)
        undo.enter_context(own_state(work))
        node = StorageNode(stand, work.name, undo)
        database = server.Server(places, work, stand, node, undo) if places else None
        for size in grid.sizes:
            progress(f"writing {size} MB")
            write_text(stand.disks / disks[0].name / f"{size}.txt", size)
            if SCAN in commands:
                scan.write_table(stand.disks / disks[0].name / f"{size}.csv", size)
            if database:
                database.write_tables(disks[0].name, size)
        for disk in disks[1:]:
            stand.twin(disk, disks[0].name)
        if database:
            for size, disk in itertools.product(grid.sizes, disks):
                database.add_tables(disk.name, size)
        cells = []
        programs = [program for program in grid.programs if program in commands]
        programs += server.QUERIES if database else ()
        for size, kind, link, program, clients in itertools.product(
            grid.sizes, grid.kinds, grid.links, programs, grid.clients
        ):
            progress(f"{program}, {size} MB, {kind} nodes, {link} Mb/s, {clients} clients")
            interrupts.check()
            case = Case(program, commands.get(program, ()), size, kind, link, clients)
            cells.append(_cell(stand, node, case, grid, database))
        return cells


@dataclass(frozen=True, slots=True)
class Case:
    """What a cell is measured with."""

    program: str
    command: tuple[str, ...]
    megabytes: int
    kind: str
    link: int
    clients: int


def _disks(grid: Grid) -> list[str]:
    """Return the names of the disks: one for each client, and one for the other service."""
    return [f"disk{number}" for number in range(1, 1 + max(grid.clients) + grid.service)]


def _cell(
    stand: RemoteStorage, node: StorageNode, case: Case, grid: Grid, database: server.Server | None
) -> Cell:
    clients, bits = case.clients, case.link * 1e6
    disks = _disks(grid)[:clients]
    disk_rate = KINDS[case.kind].disk_rate * 1e6 / (clients if grid.shared_disk else 1)
    node.become(KINDS[case.kind])
    for disk in disks:
        stand.limit(disk, disk_rate)
    if database and case.program in server.QUERIES:
        work = _of_server(database, case, disks)
    else:
        work = _of_program(stand, node, case, disks, disk_rate)
    seconds, wire, outputs, cpu = {"near": [], "here": []}, {}, set(), 0.0  # type: ignore[var-annotated]
    series, service = dict[str, Series](), dict[str, float]()
    for turn in range(grid.repeats):
        for way in ("near", "here") if turn % 2 else ("here", "near"):
            stand.shape(bits if way == "near" else bits / clients)
            stand.forget(*work.files)
            before, began = stand.sent(), time.monotonic()
            with node.watched() as series[way]:
                answers, used = work.ways[way]()
            seconds[way].append(time.monotonic() - began)
            outputs |= answers
            if way == "near":
                cpu = series[way].processor[-1] if used is None else used
            wire[way] = stand.sent() - before
    if grid.service:
        for way in ("alone", "near", "here"):
            stand.forget(*work.files)
            with node.serving(stand.disks / _disks(grid)[-1] / Path(work.files[0]).name) as rate:
                work.ways.get(way, lambda: time.sleep(_ALONE_SECONDS))()
            service[way] = rate[0]
    decision = work.planned.decision if work.planned else None
    return Cell(
        case.program, case.megabytes, case.kind, case.link, clients,
        "" if work.planned is None else "near" if work.planned.node else "here",
        work.planned.reason if work.planned else "",
        min(seconds["near"]), min(seconds["here"]),
        decision.near.seconds if decision else None, decision.here.seconds if decision else None,
        wire["near"] // clients, wire["here"], cpu / clients, len(outputs) == 1, load(), series, service,
    )  # fmt: skip


@dataclass(frozen=True, slots=True)
class _Work:
    """What is done in a cell: the files of all clients, what was decided, and what runs each way.

    That returns hashes of outputs, and CPU seconds on the storage node if it knows them.
    """

    files: list[str]
    planned: Plan | None
    ways: dict[str, Callable[[], tuple[set[str], float | None]]]


def _of_program(
    stand: RemoteStorage, node: StorageNode, case: Case, disks: list[str], disk_rate: float
) -> _Work:
    bits, clients = case.link * 1e6, case.clients
    names = [f"{disk}/{case.megabytes}.{'csv' if case.program == SCAN else 'txt'}" for disk in disks]
    executor, rsh = node.reached_by(ADDRESS)
    wanted = Wanted(
        files=(stand.mount / names[0],), argv=case.command, executor=executor, rsh=rsh,
        node=ADDRESS if executor == "ssh" else case.kind,  # kinds are learned of apart
        disk_rate=disk_rate, link_rate=stand.shape(bits), clients=clients,
        path_map=(str(stand.mount), str(stand.disks)),
    )  # fmt: skip
    all_clients = [replace(wanted, files=(stand.mount / name,)) for name in names]
    stand.shape(bits / clients)
    stand.forget(*names)
    return _Work(
        names, plan(wanted, no_site),
        {"near": lambda: _near(all_clients), "here": lambda: ({_here(wanted)}, None)},
    )  # fmt: skip


def _of_server(database: server.Server, case: Case, disks: list[str]) -> _Work:
    """Over the network one client asks, as with programs."""
    asking = {"near": disks, "here": disks[:1]}

    def ask(way: str) -> tuple[set[str], None]:
        return database.ask(way, case.program, asking[way], case.megabytes), None

    files = [file for disk in disks for file in database.files(disk, case.megabytes)]
    return _Work(files, None, {way: partial(ask, way) for way in asking})


def _near(clients: list[Wanted]) -> tuple[set[str], float]:
    """Run the program of all clients at once; returns hashes of their outputs, and their CPU seconds."""
    with ThreadPoolExecutor(len(clients)) as threads:
        ended = list(threads.map(_one_near, clients))
    return {digest for digest, _ in ended}, sum(cpu for _, cpu in ended)


def _one_near(wanted: Wanted) -> tuple[str, float]:
    digest = hashlib.sha256()
    ended = Conversation(wanted.run(wanted.node or ADDRESS)).hold(digest.update, drop, None)
    if ended.status != 0:
        raise DemoError(f"{wanted.argv[0]} ended with status {ended.status} on the storage node.")
    return digest.hexdigest(), ended.cpu_seconds


def _here(wanted: Wanted) -> str:
    digest = hashlib.sha256()
    process = subprocess.Popen(wanted.command(there=False), stdout=subprocess.PIPE)
    assert process.stdout is not None
    while data := process.stdout.read(1 << 18):
        digest.update(data)
    if process.wait() != 0:
        raise DemoError(f"{wanted.argv[0]} ended with status {process.returncode}.")
    return digest.hexdigest()


def drop(_: object) -> None:
    """Take no notice of what a program prints."""


def no_site() -> Site:
    """Raise DemoError: what is needed of a site is stated."""
    raise DemoError("there is no service in this experiment")


@contextmanager
def own_state(work: Path) -> Iterator[None]:
    """Keep what is learned of programs with the experiment, not with the user."""
    before = os.environ.get("XDG_STATE_HOME")
    os.environ["XDG_STATE_HOME"] = str(work / "state")
    try:
        yield
    finally:
        if before is None:
            del os.environ["XDG_STATE_HOME"]
        else:
            os.environ["XDG_STATE_HOME"] = before


def write_text(path: Path, megabytes: int, selected: float = _SELECTED) -> None:
    """Write lines of words; this share of them holds the word that is looked for.  Always the same."""
    chance = random.Random(megabytes)
    words = [f"w{number:05d}" for number in range(2000)]
    lines = []
    for _ in range(_LINES // 20):
        line = " ".join(chance.choices(words, k=12))
        lines.append(f"{line} needle\n" if chance.random() < selected else f"{line}\n")
    block = "".join(lines).encode()
    left = megabytes * 1_000_000
    with path.open("wb") as file:
        while left > 0:
            left -= file.write(block[:left])
        file.flush()
        os.fsync(file.fileno())


def right_share(cells: list[Cell]) -> float | None:
    """Return the share of right decisions; ``None`` if there was none."""
    decided = [cell for cell in cells if cell.choice]
    return sum(cell.right for cell in decided) / len(decided) if decided else None


def saved_mean(cells: list[Cell]) -> float:
    """Return the mean of the per cents of the time that going near saves, over all cells."""
    return 100 * sum(1 - cell.near_seconds / cell.here_seconds for cell in cells) / len(cells)


def as_json(grid: Grid, cells: list[Cell]) -> dict[str, Any]:
    """Return everything as JSON data."""
    return {
        "settings": {**asdict(grid), "nodes": {name: asdict(KINDS[name]) for name in grid.kinds}},
        "machine": machine(),
        "cells": [{**asdict(cell), "right": cell.right if cell.choice else None} for cell in cells],
        "right": right_share(cells),
        "saved_percent_mean": saved_mean(cells),
    }  # fmt: skip
