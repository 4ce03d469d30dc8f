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
import os
import random
import subprocess
import time
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack, contextmanager
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any

from ses.demo.branches import BranchPlan
from ses.demo.faults import DemoError
from ses.demo.interrupts import Interrupts
from ses.demo.work import need_root, work_directory
from ses.near.execution.conversation import Conversation
from ses.near.placing import Site
from ses.near.run_near import Wanted, plan

from ses_experiment.machine import load, machine
from ses_experiment.papers import scan
from ses_experiment.remote_storage import ADDRESS, RemoteStorage, set_up

DISK_RATE = 107  # MB/s: Type I of the paper's Table II
LINK_BITS = 1e9
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
SCAN = "scan"
"""By PostgreSQL, where that is installed: its command is made with its database."""
_LINES = 200_000
_SELECTED = 0.002  # of the lines hold the needle


@dataclass(frozen=True, slots=True)
class Cell:
    """One program, size (MB) and number of clients.  ``choice``: ``near`` or ``here``.

    Of one client: bytes on the wire, and CPU seconds on the storage node in the last run there.
    """

    program: str
    megabytes: int
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

    ``shared_disk``: clients share a disk's rate; else each has a disk of its own.
    """

    programs: tuple[str, ...] = (*PROGRAMS, SCAN)
    sizes: tuple[int, ...] = (64, 256, 512)
    clients: tuple[int, ...] = (1, 2, 4, 8)
    repeats: int = 3
    shared_disk: bool = False


SHORT = Grid(sizes=(64,), repeats=1)


def measure(grid: Grid, interrupts: Interrupts, progress: Callable[[str], None]) -> list[Cell]:
    """Run the grid and undo all it made, however it ends; raises DemoError, StoppedError."""
    need_root("The experiment", "ses experiment orca")
    with ExitStack() as undo:
        try:
            work = work_directory(undo, "ses-orca-")
            commands = dict(PROGRAMS)
            database = scan.installed() if SCAN in grid.programs else None
            if database:
                commands[SCAN] = scan.prepare(work, database, max(grid.clients))
            elif SCAN in grid.programs:
                progress("PostgreSQL is not installed (apt-get install postgresql): scan is left out")
            room = 2 * sum(grid.sizes) + 64
            disks = [BranchPlan(disk, DISK_RATE, DISK_RATE, room, room) for disk in _disks(grid)]
            stand = set_up(work, disks[:1], undo, interrupts, progress)
            undo.enter_context(own_state(work))
            for size in grid.sizes:
                progress(f"writing {size} MB")
                write_text(stand.disks / disks[0].name / f"{size}.txt", size)
                if SCAN in commands:
                    scan.write_table(stand.disks / disks[0].name / f"{size}.csv", size)
            for disk in disks[1:]:
                stand.twin(disk, disks[0].name)
            cells = []
            for size in grid.sizes:
                for program in (program for program in grid.programs if program in commands):
                    for clients in grid.clients:
                        progress(f"{program}, {size} MB, {clients} clients")
                        interrupts.check()
                        cells.append(_cell(stand, program, commands[program], size, clients, grid))
            return cells
        finally:
            interrupts.hold()
            progress("removing everything")


def _disks(grid: Grid) -> list[str]:
    return [f"disk{number}" for number in range(1, 1 + max(grid.clients))]


def _cell(
    stand: RemoteStorage, program: str, command: tuple[str, ...], size: int, clients: int, grid: Grid
) -> Cell:
    file = f"{size}.{'csv' if program == SCAN else 'txt'}"
    disks = _disks(grid)[:clients]
    names = [f"{disk}/{file}" for disk in disks]
    disk_rate = DISK_RATE * 1e6 / (clients if grid.shared_disk else 1)
    for disk in disks:
        stand.limit(disk, disk_rate)
    wanted = Wanted(
        files=(stand.mount / names[0],), argv=command, node=ADDRESS, executor="ssh", rsh=stand.rsh,
        disk_rate=disk_rate, link_rate=stand.shape(LINK_BITS), clients=clients,
        path_map=(str(stand.mount), str(stand.disks)),
    )  # fmt: skip
    all_clients = [replace(wanted, files=(stand.mount / name,)) for name in names]
    stand.shape(LINK_BITS / clients)
    stand.forget(*names)
    planned = plan(wanted, _no_site)
    seconds, wire, outputs, cpu = {"near": [], "here": []}, {}, set(), 0.0  # type: ignore[var-annotated]
    for turn in range(grid.repeats):
        for way in ("near", "here") if turn % 2 else ("here", "near"):
            stand.shape(LINK_BITS if way == "near" else LINK_BITS / clients)
            stand.forget(*names)
            before, began = stand.sent(), time.monotonic()
            if way == "near":
                answers, cpu = _near(all_clients)
                outputs |= answers
            else:
                outputs.add(_here(wanted))
            seconds[way].append(time.monotonic() - began)
            wire[way] = stand.sent() - before
    decision = planned.decision
    return Cell(
        program, size, clients, "near" if planned.node else "here", planned.reason,
        min(seconds["near"]), min(seconds["here"]),
        decision.near.seconds if decision else None, decision.here.seconds if decision else None,
        wire["near"] // clients, wire["here"], cpu / clients, len(outputs) == 1, load(),
    )  # fmt: skip


def _near(clients: list[Wanted]) -> tuple[set[str], float]:
    """Run the program of all clients at once; returns hashes of their outputs, and their CPU seconds."""
    with ThreadPoolExecutor(len(clients)) as threads:
        ended = list(threads.map(_one_near, clients))
    return {digest for digest, _ in ended}, sum(cpu for _, cpu in ended)


def _one_near(wanted: Wanted) -> tuple[str, float]:
    digest = hashlib.sha256()
    ended = Conversation(wanted.run(ADDRESS)).hold(digest.update, _drop, None)
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


def _drop(_data: bytes) -> None:
    return


def _no_site() -> Site:
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


def right_share(cells: list[Cell]) -> float:
    """Return the share of cells whose decision was right."""
    return sum(cell.right for cell in cells) / len(cells)


def as_json(grid: Grid, cells: list[Cell]) -> dict[str, Any]:
    """Return everything as JSON data."""
    return {
        "settings": {**asdict(grid), "disk_mb_s": DISK_RATE, "link_bit_s": LINK_BITS},
        "machine": machine(),
        "cells": [{**asdict(cell), "right": cell.right} for cell in cells],
        "right": right_share(cells),
    }  # fmt: skip
