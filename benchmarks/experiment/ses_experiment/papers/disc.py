"""The experiment of DiSC: four slow endpoints with a disk each, against one fast node.

Three arms, as in the paper: ``near`` (``ses map-near`` on the endpoints), ``desktop`` (the same data on the
one disk of the fast node) and ``distributed`` (the fast node reads the endpoints' disks over the network).
Endpoints are processes with a quota of a processor each, which read their disk themselves.  What they print
crosses the fast node's link (ssh, which is outside of the quota).
"""

from __future__ import annotations

import hashlib
import os
import subprocess
import tempfile
import time
from collections.abc import Callable, Sequence
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path

from ses.demo.branches import BranchPlan
from ses.demo.faults import DemoError
from ses.demo.interrupts import Interrupts
from ses.demo.work import need_root, work_directory
from ses.near.cost import Here
from ses.near.endpoints import Spread, decided, spread
from ses.near.map_near import run_all
from ses.near.placing import Site
from ses.near.run_near import Wanted
from ses.near.tasks import HERE, tasks_of

from ses_experiment.machine import load
from ses_experiment.papers.orca import own_state, write_text
from ses_experiment.remote_storage import ADDRESS, RemoteStorage, set_up

ENDPOINTS = 4
DISK_RATE = 40  # MB/s
QUOTA = 0.2  # of a processor: a Cortex-A7 beside a desktop's core
LINK_BITS = 1e9
EGREP = ("egrep", "needle", "{}")
WORDCOUNT = ("sh", "-c", "tr -s ' ' '\\n' <$0 | LC_ALL=C sort | uniq -c", "{}")
# Parent of the control groups, endpoint, ssh with its address: runs what follows in the endpoint's group.
_ON_ENDPOINT = """groups=$0 node=$1 ssh=$2; shift 2
exec $ssh "echo \\$\\$ >$groups/$node/cgroup.procs && exec ${*@Q}\""""
_CPU_GROUPS = Path("/sys/fs/cgroup/cpu")
_PERIOD_MICROSECONDS = 100_000


@dataclass(frozen=True, slots=True)
class Row:
    """One program: seconds of each arm, what ``ses map-near`` decides, and bytes returned per byte read."""

    program: str
    selected: float
    near: float
    desktop: float
    distributed: float
    pays: bool
    near_predicted: float
    same_output: bool
    load: float


def measure(
    megabytes: int, selections: Sequence[float], interrupts: Interrupts, progress: Callable[[str], None]
) -> list[Row]:
    """Run all arms, ``megabytes`` on each endpoint; undoes all it made.  Raises DemoError, StoppedError."""
    need_root("The experiment", "ses experiment disc")
    with ExitStack() as undo:
        try:
            work = work_directory(undo, "ses-disc-")
            room = megabytes + 32
            plans = [BranchPlan(name, DISK_RATE, DISK_RATE, room, room) for name in _names()]
            whole = ENDPOINTS * megabytes + 32
            plans.append(BranchPlan("desktop", DISK_RATE, DISK_RATE, whole, whole))
            groups = _groups(work.name, undo)
            stand = set_up(work, plans, undo, interrupts, progress)
            stand.shape(LINK_BITS)
            undo.enter_context(own_state(work))
            rows = []
            for selected in selections:
                _write(stand, megabytes, selected)
                programs: dict[str, tuple[str, ...]] = {"egrep": EGREP}
                if selected == selections[0]:
                    programs["wordcount"] = WORDCOUNT
                for name, argv in programs.items():
                    interrupts.check()
                    progress(f"{name}, {selected:.1%} of the lines")
                    rows.append(_row(stand, groups, name, argv, selected))
            return rows
        finally:
            interrupts.hold()
            progress("removing everything")


def _names() -> list[str]:
    return [f"e{number}" for number in range(1, ENDPOINTS + 1)]


def _groups(name: str, undo: ExitStack) -> Path:
    """Make a control group with a quota for each endpoint; raises DemoError without cgroup v1's cpu."""
    if not _CPU_GROUPS.is_dir() or not os.access(_CPU_GROUPS, os.W_OK):
        raise DemoError("No control group of cgroup v1 can limit processors here (/sys/fs/cgroup/cpu).")
    top = _CPU_GROUPS / name
    for folder in (top, *(top / name for name in _names())):
        folder.mkdir()
        undo.callback(folder.rmdir)
        if folder != top:
            (folder / "cpu.cfs_period_us").write_text(str(_PERIOD_MICROSECONDS))
            (folder / "cpu.cfs_quota_us").write_text(str(int(QUOTA * _PERIOD_MICROSECONDS)))
    return top


def _write(stand: RemoteStorage, megabytes: int, selected: float) -> None:
    for name in _names():
        write_text(stand.disks / name / "part.txt", megabytes, selected)
        write_text(stand.disks / "desktop" / f"{name}.txt", megabytes, selected)


def _row(stand: RemoteStorage, groups: Path, name: str, argv: tuple[str, ...], selected: float) -> Row:
    parts = [Path(name) / "part.txt" for name in _names()]
    wanted = Wanted(
        files=tuple(stand.disks / name for name in parts), argv=argv, executor="command",
        rsh=("bash", "-c", _ON_ENDPOINT, str(groups), "%n", " ".join((*stand.rsh, ADDRESS))),
        disk_rate=DISK_RATE * 1e6, link_rate=stand.shape(LINK_BITS), clients=1,
    )  # fmt: skip
    where, _ = spread(wanted, [(f"*/{name}/part.txt", name) for name in _names()], _no_site)
    cores = float(len(os.sched_getaffinity(0)))
    where = Spread(where.extents, where.holders, Here(stand.shape(LINK_BITS), cores))
    reasons: list[str] = []
    decision, _ = decided(wanted, where, 1, reasons)
    if decision is None:
        raise DemoError(f"The program could not be tried on an endpoint: {', '.join(reasons)}.")
    desktop = [Path("desktop") / f"{name}.txt" for name in _names()]
    arms: dict[str, tuple[list[Path], Callable[[], str]]] = {
        "near": (parts, lambda: _near(wanted, where)),
        "desktop": (desktop, lambda: _here(argv, [stand.disks / path for path in desktop])),
        "distributed": (parts, lambda: _here(argv, [stand.mount / path for path in parts])),
    }
    seconds, outputs = dict[str, float](), set[str]()
    for arm, (files, run) in arms.items():
        for file in files:
            stand.forget(str(file))
        began = time.monotonic()
        outputs.add(run())
        seconds[arm] = time.monotonic() - began
    return Row(
        name, selected, seconds["near"], seconds["desktop"], seconds["distributed"], decision.pays,
        decision.near.seconds, len(outputs) == 1, load(),
    )  # fmt: skip


def _near(wanted: Wanted, where: Spread) -> str:
    digest = hashlib.sha256()
    at_once = {**dict.fromkeys(where.nodes, 1), HERE: 1}
    result = run_all(wanted, tasks_of(where.extents, None), at_once, 0, digest.update, _drop, _drop)
    if result.status != 0:
        raise DemoError(f"{wanted.argv[0]} ended with status {result.status} on an endpoint.")
    return digest.hexdigest()


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


def _drop(_: object) -> None:
    return


def _no_site() -> Site:
    raise DemoError("there is no service in this experiment")
