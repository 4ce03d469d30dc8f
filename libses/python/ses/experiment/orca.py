"""The experiment of ORCA: five programs beside the storage node's disk, against reading it over the network.

For each program, size and number of clients of the storage node's link: what ``ses run-near`` would decide,
the time of both ways, and the bytes on the wire.  N clients of a link are one client with an N-th of its
rate; each has a disk of its own.  Caches are cold, which is verified before each run; outputs are
compared byte for byte.
"""

from __future__ import annotations

import hashlib
import os
import random
import subprocess
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from ses.demo.branches import BranchPlan
from ses.demo.faults import DemoError
from ses.demo.interrupts import Interrupts
from ses.demo.work import need_root, work_directory
from ses.experiment import scan
from ses.experiment.machine import load, machine
from ses.experiment.remote_storage import ADDRESS, RemoteStorage, set_up
from ses.near.execution.conversation import Conversation
from ses.near.placing import Site
from ses.near.single import Wanted, plan

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
_DISK = "disk"
_LINES = 200_000
_SELECTED = 0.002  # of the lines hold the needle


@dataclass(frozen=True, slots=True)
class Cell:
    """One program, size (MB) and number of clients.  ``choice``: ``near`` or ``here``; wire: bytes.

    ``near_cpu``: CPU seconds on the storage node, of the last run there.
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
    """What is run; ``repeats`` of each cell, of which the fastest of each way counts."""

    programs: tuple[str, ...] = (*PROGRAMS, SCAN)
    sizes: tuple[int, ...] = (64, 256, 512)
    clients: tuple[int, ...] = (1, 2, 4, 8)
    repeats: int = 3


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
                commands[SCAN] = scan.prepare(work, database)
            elif SCAN in grid.programs:
                progress("PostgreSQL is not installed (apt-get install postgresql): scan is left out")
            room = 2 * sum(grid.sizes) + 64
            disk = BranchPlan(_DISK, DISK_RATE, DISK_RATE, room, room)
            stand = set_up(work, [disk], undo, interrupts, progress)
            undo.enter_context(own_state(work))
            for size in grid.sizes:
                progress(f"writing {size} MB")
                write_text(stand.disks / _DISK / f"{size}.txt", size)
                if SCAN in commands:
                    scan.write_table(stand.disks / _DISK / f"{size}.csv", size)
            cells = []
            for size in grid.sizes:
                for program in (one for one in grid.programs if one in commands):
                    for clients in grid.clients:
                        progress(f"{program}, {size} MB, {clients} clients")
                        interrupts.check()
                        cells.append(_cell(stand, program, commands[program], size, clients, grid.repeats))
            return cells
        finally:
            interrupts.hold()
            progress("removing everything")


def _cell(
    stand: RemoteStorage, program: str, command: tuple[str, ...], size: int, clients: int, repeats: int
) -> Cell:
    rate = stand.shape(LINK_BITS / clients)
    name = f"{_DISK}/{size}.{'csv' if program == SCAN else 'txt'}"
    wanted = Wanted(
        files=(stand.mount / name,), argv=command, node=ADDRESS, executor="ssh", rsh=stand.rsh,
        disk_rate=DISK_RATE * 1e6, link_rate=rate * clients, clients=clients,
        path_map=(str(stand.mount), str(stand.disks)),
    )  # fmt: skip
    made = plan(wanted, _no_site)
    ways = {"near": _near, "here": _here}
    seconds, wire, cpu, outputs = {"near": [], "here": []}, {}, {}, set()  # type: ignore[var-annotated]
    for turn in range(repeats):
        for way in ("near", "here") if turn % 2 else ("here", "near"):
            stand.forget(name)
            before, began = stand.sent(), time.monotonic()
            output, cpu[way] = ways[way](wanted)
            outputs.add(output)
            seconds[way].append(time.monotonic() - began)
            wire[way] = stand.sent() - before
    decision = made.decision
    return Cell(
        program, size, clients, "near" if made.node else "here", made.reason,
        min(seconds["near"]), min(seconds["here"]),
        decision.near.seconds if decision else None, decision.here.seconds if decision else None,
        wire["near"], wire["here"], cpu["near"], len(outputs) == 1, load(),
    )  # fmt: skip


def _near(wanted: Wanted) -> tuple[str, float]:
    digest = hashlib.sha256()
    ended = Conversation(wanted.run(ADDRESS)).hold(digest.update, _drop, None)
    if ended.status != 0:
        raise DemoError(f"{wanted.argv[0]} ended with status {ended.status} on the storage node.")
    return digest.hexdigest(), ended.cpu_seconds


def _here(wanted: Wanted) -> tuple[str, float]:
    digest = hashlib.sha256()
    process = subprocess.Popen(wanted.command(there=False), stdout=subprocess.PIPE)
    assert process.stdout is not None
    while data := process.stdout.read(1 << 18):
        digest.update(data)
    if process.wait() != 0:
        raise DemoError(f"{wanted.argv[0]} ended with status {process.returncode}.")
    return digest.hexdigest(), 0.0


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
    return sum(one.right for one in cells) / len(cells)


def as_json(grid: Grid, cells: list[Cell]) -> dict[str, Any]:
    """Return everything as JSON data."""
    return {
        "settings": {**asdict(grid), "disk_mb_s": DISK_RATE, "link_bit_s": LINK_BITS},
        "machine": machine(),
        "cells": [{**asdict(one), "right": one.right} for one in cells],
        "right": right_share(cells),
    }  # fmt: skip
