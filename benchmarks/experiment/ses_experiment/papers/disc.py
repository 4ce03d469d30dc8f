"""The experiment of DiSC: four slow endpoints with a disk each, against one fast node.

Three arms, as in the paper: ``near`` (``ses map-near`` on the endpoints), ``desktop`` (the same data on the
one disk of the fast node) and ``distributed`` (the fast node reads the endpoints' disks over the network).
Endpoints are processes with a quota of a processor and a limit of memory each (control groups), which read
their disk themselves.  What they print crosses the fast node's link (ssh, which is outside of the quota);
what they send each other crosses no link.  The paper's sizes are 128 MB, 600 MB and 1 GB, with 700 MB of
memory.
"""

from __future__ import annotations

import hashlib
import os
import subprocess
import tempfile
import time
from collections.abc import Callable, Sequence
from contextlib import ExitStack, nullcontext
from dataclasses import dataclass
from pathlib import Path

from ses.demo.branches import BranchPlan
from ses.demo.faults import DemoError
from ses.demo.interrupts import Interrupts
from ses.demo.work import need_root, work_directory
from ses.near.cost import Here
from ses.near.endpoints import Spread, decided, spread
from ses.near.execution.executors import Limits
from ses.near.map_near import run_all
from ses.near.run_near import Wanted
from ses.near.shuffle.sorting import Order, Shuffle
from ses.near.tasks import HERE, tasks_of

from ses_experiment import groups
from ses_experiment.machine import load
from ses_experiment.papers.orca import drop, no_site, own_state, write_text
from ses_experiment.remote_storage import ADDRESS, RemoteStorage, set_up

ENDPOINTS = 4
DISK_RATE = 40  # MB/s
QUOTA = 0.2  # of a processor: a Cortex-A7 beside a desktop's core
LINK_BITS = 1e9
EGREP = ("egrep", "needle", "{}")
_COUNT = "LC_ALL=C sort | uniq -c"
WORDS = ("sh", "-c", "tr -s ' ' '\\n' <$0", "{}")
WORDCOUNT = ("sh", "-c", f"{WORDS[2]} | {_COUNT}", "{}")
WORDCOUNT_OF_ALL = "wordcount of all"
"""One list of all endpoints' words, as ``ses map-near --shuffle 0 --reduce 'uniq -c'`` makes it."""
_GROUPS = ("cpu", "memory")


@dataclass(frozen=True, slots=True)
class Row:
    """One program: seconds of each arm, what ``ses map-near`` decides, and bytes returned per byte read.

    ``megabytes``: of each endpoint; ``peak``: MB of memory that the fullest had, page cache included.
    """

    program: str
    megabytes: int
    selected: float
    near: float
    desktop: float
    distributed: float
    pays: bool
    near_predicted: float
    same_output: bool
    peak: float
    load: float


def measure(
    sizes: Sequence[int], memory: int, selections: Sequence[float], interrupts: Interrupts,
    progress: Callable[[str], None],
) -> list[Row]:  # fmt: skip
    """Run all arms with so many MB on each endpoint, which has ``memory`` MB; undoes all it made.

    The word count of each runs on all ``sizes``, that of all on the first, and egrep on the last.  Raises
    DemoError, StoppedError.
    """
    need_root("The experiment", "ses experiment disc")
    with interrupts.undoing(progress) as undo:
        work = work_directory(undo, "ses-disc-")
        room = _room(max(sizes))
        plans = [BranchPlan(name, DISK_RATE, DISK_RATE, room, room) for name in _names()]
        whole = _room(ENDPOINTS * max(sizes))
        plans.append(BranchPlan("desktop", DISK_RATE, DISK_RATE, whole, whole))
        _make_groups(work.name, memory, undo)
        stand = set_up(work, plans, undo, interrupts, progress)
        stand.shape(LINK_BITS)
        undo.enter_context(own_state(work))
        rows = []
        counts: dict[str, tuple[str, ...]] = {"wordcount": WORDCOUNT, WORDCOUNT_OF_ALL: WORDS}
        cells = [(sizes[0], selections[0], counts)]
        cells += [(size, selections[0], {"wordcount": WORDCOUNT}) for size in sizes[1:]]
        cells += [(sizes[-1], selected, {"egrep": EGREP}) for selected in selections]
        for size, selected, programs in cells:
            _write(stand, size, selected)
            for name, argv in programs.items():
                interrupts.check()
                progress(f"{name}, {size} MB on each endpoint, {selected:.1%} of the lines")
                case = _Case(name, argv, size, selected, work.name, memory)
                rows.append(_row(stand, case))
        return rows


def _room(megabytes: int) -> int:
    """Return the MB of a disk that has room for so many, and for what the file system keeps for itself."""
    return megabytes + megabytes // 10 + 32


def _names() -> list[str]:
    return [f"e{number}" for number in range(1, ENDPOINTS + 1)]


@dataclass(frozen=True, slots=True)
class _Case:
    """A program and what it runs on; ``groups``: the name of the control groups, ``memory``: MB."""

    program: str
    argv: tuple[str, ...]
    megabytes: int
    selected: float
    groups: str
    memory: int

    @property
    def shuffled(self) -> bool:
        return self.program == WORDCOUNT_OF_ALL


def _make_groups(name: str, memory: int, undo: ExitStack) -> None:
    """Make control groups for each endpoint; raises DemoError without cgroup v1's cpu and memory."""
    groups.make(name, _GROUPS, undo)
    for endpoint in (f"{name}/{each}" for each in _names()):
        groups.make(endpoint, _GROUPS, undo)
        groups.give_processor(endpoint, QUOTA)
        limit = groups.GROUPS / "memory" / endpoint / "memory.limit_in_bytes"
        limit.write_text(str(memory * 1_000_000))


def _peak(name: str) -> float:
    """Return the MB that the fullest endpoint had since this was asked last."""
    controls = [groups.GROUPS / "memory" / name / each / "memory.max_usage_in_bytes" for each in _names()]
    most = max(int(control.read_text()) for control in controls)
    for control in controls:
        control.write_text("0")
    return most / 1e6


def _write(stand: RemoteStorage, megabytes: int, selected: float) -> None:
    for name in _names():
        write_text(stand.disks / name / "part.txt", megabytes, selected)
        write_text(stand.disks / "desktop" / f"{name}.txt", megabytes, selected)


def _row(stand: RemoteStorage, case: _Case) -> Row:
    parts = [Path(name) / "part.txt" for name in _names()]
    wanted = Wanted(
        files=tuple(stand.disks / name for name in parts), argv=case.argv, executor="command",
        rsh=groups.joined(f"{case.groups}/%n", _GROUPS, (*stand.rsh, ADDRESS)),
        limits=Limits(memory=case.memory * 1_000_000),
        disk_rate=DISK_RATE * 1e6, link_rate=stand.shape(LINK_BITS), clients=1,
    )  # fmt: skip
    where, _ = spread(wanted, [(f"*/{name}/part.txt", name) for name in _names()], no_site)
    cores = float(len(os.sched_getaffinity(0)))
    where = Spread(where.extents, where.holders, Here(stand.shape(LINK_BITS), cores))
    reasons: list[str] = []
    decision, _ = decided(wanted, where, 1, reasons)
    if decision is None:
        raise DemoError(f"The program could not be tried on an endpoint: {', '.join(reasons)}.")
    desktop = [Path("desktop") / f"{name}.txt" for name in _names()]
    here = _all_here if case.shuffled else _here
    arms: dict[str, tuple[list[Path], Callable[[], str]]] = {
        "near": (parts, lambda: _near(wanted, where, case.shuffled)),
        "desktop": (desktop, lambda: here(case.argv, [stand.disks / path for path in desktop])),
        "distributed": (parts, lambda: here(case.argv, [stand.mount / path for path in parts])),
    }
    _peak(case.groups)
    seconds, outputs = dict[str, float](), set[str]()
    for arm, (files, run) in arms.items():
        for file in files:
            stand.forget(str(file))
        began = time.monotonic()
        outputs.add(run())
        seconds[arm] = time.monotonic() - began
    return Row(
        case.program, case.megabytes, case.selected, seconds["near"], seconds["desktop"],
        seconds["distributed"], decision.pays, decision.near.seconds, len(outputs) == 1, _peak(case.groups),
        load(),
    )  # fmt: skip


def _near(wanted: Wanted, where: Spread, shuffled: bool) -> str:
    digest = hashlib.sha256()
    at_once = {**dict.fromkeys(where.nodes, 1), HERE: 1}
    order = Order(0, ("uniq", "-c"))
    with Shuffle(wanted, order) if shuffled else nullcontext() as shuffle:
        tasks = tasks_of(where.extents, None)
        result = run_all(wanted, tasks, at_once, 0, digest.update, drop, drop, None, shuffle)
    if result.status != 0:
        raise DemoError(f"{wanted.argv[0]} ended with status {result.status} on an endpoint.")
    return digest.hexdigest()


def _all_here(argv: tuple[str, ...], files: Sequence[Path]) -> str:
    """Count the words of all files at once, and return a hash of the list.

    The last line of a file may have no end (sed gives it one).
    """
    text = f"for file; do {argv[2].replace('$0', '$file')} | sed '$a\\'; done | {_COUNT}"
    done = subprocess.run(["sh", "-c", text, "sh", *map(str, files)], capture_output=True, check=False)
    if done.returncode != 0:
        raise DemoError("The words could not be counted here.")
    return hashlib.sha256(done.stdout).hexdigest()


def _here(argv: tuple[str, ...], files: Sequence[Path]) -> str:
    """Run one process for each file at the same time, and return a hash of their outputs in order."""
    digest = hashlib.sha256()
    with ExitStack() as undo:
        kept = [undo.enter_context(tempfile.TemporaryFile(dir="/dev/shm")) for _ in files]
        running = [
            subprocess.Popen([str(file) if word == "{}" else word for word in argv], stdout=output)
            for file, output in zip(files, kept, strict=True)
        ]
        statuses = [process.wait() for process in running]
        if any(statuses):
            raise DemoError(f"{argv[0]} failed.")
        for output in kept:
            output.seek(0)
            while data := output.read(1 << 18):
                digest.update(data)
    return digest.hexdigest()
