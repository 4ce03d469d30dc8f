"""READ2's Figure 3 on one machine: the disk rate a transposition consumes of the rate it is allowed.

A node transposes blocks of a matrix that lie on another node's disk.  Three paths:

* shared nothing: the owner reads its disk and sends by TCP, the node receives (P2PS in RR-4401);
* sendfile: the same, and the owner's kernel sends from the page cache;
* shared disk: the node reads the disk itself, past the owner (READ2).

Both nodes are processes of this machine and the network is its loopback, so rates say little; the processor
time that both need for each byte says what a path costs.  The disk is a file in the page cache, read no
faster than allowed by waiting, as in the paper.  ``transposition alone`` is what all paths share.

Figure 4: beside it each core runs a filter, which does nothing but read memory.  As in the paper the
transposition goes before it: as root all run as SCHED_FIFO, so that nothing else takes part, for a second or
two each.  The filter's rate is what processors and memory have left.
"""

from __future__ import annotations

import mmap
import os
import signal
import socket
import statistics
import time
from array import array
from collections.abc import Callable, Generator, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from functools import partial
from pathlib import Path

ROWS, COLUMNS = 512, 256
BLOCK_BYTES = ROWS * COLUMNS * 8
NOTHING, SENDFILE, DISK, ALONE = "shared nothing", "sendfile", "shared disk", "transposition alone"
ARMS = (NOTHING, SENDFILE, DISK, ALONE)
_BEFORE, _AFTER = 3, 2  # of SCHED_FIFO
_Ended = tuple[int, float]  # the status of a process, and its processor seconds
_LOOK_SECONDS = 0.001  # between two looks whether a child has ended
_FILTERED = 64 * 2**20  # bytes that a filter reads at once, more than most caches hold


@dataclass(frozen=True, slots=True)
class Run:
    """One run: bytes per second that were consumed, and processor seconds of all processes for each byte.

    ``filtered``: bytes per second that the filters read meanwhile, 0 where there were none.
    """

    arm: str
    allowed: float
    rate: float
    cpu_per_byte: float
    filtered: float = 0.0


@dataclass(frozen=True, slots=True)
class Line:
    """The medians of the runs of an arm at an allowed rate (0: as fast as it goes)."""

    arm: str
    allowed: float
    rate: float
    cpu_per_byte: float
    filtered: float


def compare(
    file: Path, size: int, rates: Sequence[float], rounds: int, filters: bool = False,
    check: Callable[[], None] = lambda: None,
) -> Generator[Run, None, None]:  # fmt: skip
    """Run every arm at every rate, in turns; ``file`` is made with ``size`` bytes and taken away again.

    ``check`` is called all the time; what it raises ends the run.
    """
    blocks = max(1, size // BLOCK_BYTES)
    with file.open("xb") as output:
        try:
            for _ in range(blocks):
                output.write(os.urandom(BLOCK_BYTES))
            output.flush()
            for turn in range(rounds):
                for rate in rates:
                    for arm in ARMS if turn % 2 == 0 else reversed(ARMS):
                        yield _run(arm, file, blocks, rate, filters, check)
        finally:
            file.unlink()


def lines(runs: Sequence[Run]) -> list[Line]:
    """Return the medians, by allowed rate and arm in the order they came."""
    rows = []
    for arm, allowed in dict.fromkeys((run.arm, run.allowed) for run in runs):
        same = [run for run in runs if (run.arm, run.allowed) == (arm, allowed)]
        rate = statistics.median(run.rate for run in same)
        filtered = statistics.median(run.filtered for run in same)
        rows.append(Line(arm, allowed, rate, statistics.median(run.cpu_per_byte for run in same), filtered))
    return rows


def cost(runs: Sequence[Run], arm: str) -> float:
    """Processor seconds of an arm for each byte: the median of all its runs."""
    return statistics.median(run.cpu_per_byte for run in runs if run.arm == arm)


def transpose(block: array[float], result: array[float]) -> None:
    """Write the transposed block of ROWS x COLUMNS numbers into ``result``."""
    for row in range(ROWS):
        result[row::ROWS] = block[row * COLUMNS : (row + 1) * COLUMNS]


def _run(arm: str, file: Path, blocks: int, allowed: float, filters: bool, check: Callable[[], None]) -> Run:
    cores = len(os.sched_getaffinity(0)) if filters else 0
    with (
        _going_first(_BEFORE if filters else 0),
        socket.create_server(("127.0.0.1", 0)) as server,
        mmap.mmap(-1, 8 * (cores + 1)) as shared,
        memoryview(shared).cast("Q") as read,
        _children(check) as (forked, ended),
    ):
        beside = [forked(partial(_filter, read, number), _AFTER) for number in range(cores)]
        while not all(read[:cores]):
            time.sleep(0.01)
        before = sum(read[:cores])
        began = time.monotonic()
        works: list[Callable[[], None]] = [lambda: _consume(arm, file, blocks, allowed, server.getsockname())]
        if arm in (NOTHING, SENDFILE):
            works.append(lambda: _own(arm, file, blocks, allowed, server))
        pids = [forked(work) for work in works]
        cpu, failed = 0.0, False
        for pid in pids:
            status, used = ended(pid)
            cpu, failed = cpu + used, failed or status != 0
        seconds = time.monotonic() - began
        filtered = sum(read[:cores]) - before
        read[cores] = 1
        for pid in beside:
            ended(pid)
    if failed:
        raise OSError(f"a process of {arm} failed")
    moved = blocks * BLOCK_BYTES
    return Run(arm, allowed, moved / seconds, cpu / moved, filtered / seconds)


def _filter(read: memoryview[int], number: int) -> None:
    """Read memory until the last number is set; say how many bytes that were."""
    data = b"\2" * _FILTERED
    while not read[-1]:
        read[number] += _FILTERED - (b"\1" in data)


@contextmanager
def _going_first(priority: int) -> Iterator[None]:
    """Run before all that have no such priority (0: as ever), with what is forked; only root can."""
    if priority and os.geteuid() == 0:
        os.sched_setscheduler(0, os.SCHED_FIFO, os.sched_param(priority))
    try:
        yield
    finally:
        if priority and os.geteuid() == 0:
            os.sched_setscheduler(0, os.SCHED_OTHER, os.sched_param(0))


@contextmanager
def _children(
    check: Callable[[], None],
) -> Iterator[tuple[Callable[..., int], Callable[[int], tuple[int, float]]]]:
    """Yield what forks, and what waits for a child: its status, and its processor seconds.

    Children that are left at the end are killed.
    """
    left: set[int] = set()

    def forked(work: Callable[[], None], priority: int = 0) -> int:
        pid = os.fork()
        if pid == 0:
            status = 1
            try:
                if priority and os.geteuid() == 0:
                    os.sched_setscheduler(0, os.SCHED_FIFO, os.sched_param(priority))
                work()
                status = 0
            finally:
                os._exit(status)
        left.add(pid)
        return pid

    def ended(pid: int) -> _Ended:
        while True:
            check()
            done, status, used = os.wait4(pid, os.WNOHANG)
            if done:
                left.remove(pid)
                return status, used.ru_utime + used.ru_stime
            time.sleep(_LOOK_SECONDS)

    try:
        yield forked, ended
    finally:
        for pid in left:
            os.kill(pid, signal.SIGKILL)
            os.waitpid(pid, 0)


def _pace(began: float, moved: int, allowed: float) -> None:
    """Wait until the disk may have given that number of bytes."""
    if allowed:
        time.sleep(max(0.0, began + moved / allowed - time.monotonic()))


def _own(arm: str, file: Path, blocks: int, allowed: float, server: socket.socket) -> None:
    """The owner of the disk: give all blocks to who connects."""
    connection, _ = server.accept()
    buffer = bytearray(BLOCK_BYTES)
    with connection, file.open("rb", buffering=0) as disk:
        began = time.monotonic()
        for number in range(blocks):
            if arm == SENDFILE:
                sent = 0
                while sent < BLOCK_BYTES:
                    at = number * BLOCK_BYTES + sent
                    sent += os.sendfile(connection.fileno(), disk.fileno(), at, BLOCK_BYTES - sent)
            else:
                os.preadv(disk.fileno(), [buffer], number * BLOCK_BYTES)
                connection.sendall(buffer)
            _pace(began, (number + 1) * BLOCK_BYTES, allowed)


def _consume(arm: str, file: Path, blocks: int, allowed: float, address: tuple[str, int]) -> None:
    """The node that transposes: take every block by the path of the arm."""
    block, result = (array("d", bytes(BLOCK_BYTES)) for _ in range(2))
    view = memoryview(block).cast("B")
    connection = socket.create_connection(address) if arm in (NOTHING, SENDFILE) else None
    with file.open("rb", buffering=0) as disk:
        began = time.monotonic()
        for number in range(blocks):
            if connection is not None:
                received = 0
                while received < BLOCK_BYTES:
                    count = connection.recv_into(view[received:])
                    if count == 0:
                        raise OSError("the owner of the disk went away")
                    received += count
            elif arm == DISK:
                os.preadv(disk.fileno(), [view], number * BLOCK_BYTES)
                _pace(began, (number + 1) * BLOCK_BYTES, allowed)
            transpose(block, result)
