"""Whether ``ses advise`` forecasts time and bottleneck: against shaped disks, links and processors.

A program reads or writes a file in blocks, computes on each, and sends it to a peer.  It is measured
unshaped by the code of ``ses profile``.  For each cell of a grid the forecast is made from that and from
what the cell allows, and then the program runs there: an ext4 on a loop device limited by blkio, a link
limited by tc tbf to a network namespace, a share of a processor by a cgroup (v1).  It reads through the
page cache in blocks of 64 KiB, or reads or writes with O_DIRECT in blocks of 1 MiB.  All are forecast as
overlapped: the kernel's limits save up what is not used, so that a program that waits for each transfer
loses nothing here.  How much it moves of the file depends on the cell, so that its stream lasts some
seconds: a limit lets through at once in the beginning what it gives in a tenth of a second.  It reports its
own time and processor time from its first byte to its last, so that its start and its end, which are not
streaming, are left out.  Of several runs in a cell the shortest counts: limits are the same for all of
them, and other work on the machine only adds.

What binds is found by giving less: disk, link and processor are halved, each by itself, and the one that
lengthens the stream most is what bound.  Where two lengthen it alike (within 5 % of its time), either is
right.
No number makes this fail.  Needs root.

    .venv/bin/python benchmarks/streaming_forecast.py [--most 24] [--runs 2] [--seconds 2.5] [--way cached]
"""

from __future__ import annotations

import os
import random
import shutil
import statistics
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from contextlib import ExitStack
from dataclasses import dataclass, replace
from itertools import product
from pathlib import Path

from ses.demo.branches import BranchPlan, device_number, loop_branch
from ses.demo.processes import started
from ses.demo.throttle import find_throttle
from ses.demo.tools import tool
from ses.profiling.run import profile
from ses.streaming.advice import Forecast, Place, Work, forecast
from ses.streaming.model import Resource
from ses_benchmarks.arguments import arguments, as_root, positive, program
from ses_experiment import groups, network

MB = 1e6
DISKS, LINKS, CORES, LOOPS = (10, 30, 90), (8, 25, 100), (0.1, 0.3, 0.8), (1, 12, 60)
BLOCK, FILE_BLOCKS, MEASURED_BLOCKS, MIN_BLOCKS = 65536, 4096, 512, 128
WAYS = ("cached", "direct", "written")
PERIOD_US = 20_000
OWN, PEER = "198.18.18.1", "198.18.18.2"
BURST = "128kb"
"""Of the link: above the largest packet, which the kernel would cut into small ones at the sender's cost."""
NEAR = 0.05
"""Of the time: what two halved resources may differ by, so that either is what bound."""
PROGRAM = """
import hashlib, mmap, os, socket, sys, time
path, peer, loops, way = sys.argv[1], sys.argv[2], int(sys.argv[3]), sys.argv[4]
size, flags = (2**16, 0) if way == "cached" else (2**20, os.O_DIRECT)
move = os.writev if way == "written" else os.readv
blocks, report = int(sys.argv[5]), open(sys.argv[6], "w")
disk = os.open(path, os.O_RDWR | flags)
block = mmap.mmap(-1, size)
out = socket.create_connection((peer, 9999))
used, began = time.process_time(), time.monotonic()
for _ in range(blocks * 2**16 // size):
    move(disk, [block])
    for _ in range(loops):
        hashlib.sha1(block).digest()
    out.sendall(block)
out.shutdown(socket.SHUT_WR)
out.recv(1)
report.write(f"{time.monotonic() - began} {time.process_time() - used}")
"""
RECEIVER = """
import socket
server = socket.create_server(("0.0.0.0", 9999))
print("ready", flush=True)
while True:
    connection, _ = server.accept()
    while connection.recv(1 << 20):
        pass
    connection.sendall(b"x")
    connection.close()
"""


@dataclass(frozen=True)
class Cell:
    """What is allowed: MB/s, a share of a processor; how much is computed, and whether by O_DIRECT."""

    disk: float
    link: float
    cores: float
    loops: int
    way: str


class Shaped:
    """The disk, the link and the group of processes, made for this run and taken away at its end."""

    def __init__(self, undo: ExitStack, size: int) -> None:
        name = f"ses{os.getpid()}"
        work = Path(tempfile.mkdtemp(prefix=f"{name}-", dir="/dev/shm"))
        undo.callback(shutil.rmtree, work)
        room = size // 10**6 + 64
        plan = BranchPlan("mount", room, room, room, room)
        disk = loop_branch(plan, work / "mount", work / "image", undo)
        assert disk.device is not None
        self.report, self.file = work / "report", disk.directory / "data"
        self.file.write_bytes(os.urandom(size))
        tool("sync", "--file-system", str(self.file))
        self.throttle, self.device = find_throttle(name), device_number(disk.device)
        undo.callback(self.throttle.close)
        undo.callback(self.throttle.release, self.device)
        network.namespace(name, undo)
        self.veth = f"v{name}"[:15]
        network.link(("", OWN), (name, PEER), self.veth, 30)
        receive = [*network.inside(name), sys.executable, "-S", "-c", RECEIVER]
        receiver = started(["nice", "-n", "-20", *receive], undo, stdout=subprocess.PIPE)
        assert receiver.stdout is not None
        receiver.stdout.readline()
        groups.make(name, ("cpu",), undo)
        self.name, self.group = name, groups.GROUPS / "cpu" / name
        (self.group / "cpu.shares").write_text("200000")

    def allow(self, cell: Cell | None) -> None:
        """Limit all three; None: nothing."""
        self.throttle.release(self.device)
        subprocess.run(["tc", "qdisc", "del", "dev", self.veth, "root"], check=False, capture_output=True)
        groups.give_processor(self.name, None if cell is None else cell.cores, PERIOD_US)
        if cell is not None:
            self.throttle.limit(self.device, int(cell.disk * MB), int(cell.disk * MB))
            mbits = int(cell.link * 8 * 1.05)  # 5 %: headers and acknowledgements
            network.limit("", self.veth, mbits * 1e6, BURST)
        descriptor = os.open(self.file, os.O_RDONLY)
        os.posix_fadvise(descriptor, 0, 0, os.POSIX_FADV_DONTNEED)
        os.close(descriptor)

    def command(self, cell: Cell, blocks: int) -> list[str]:
        """The program, inside the group, whatever priority this benchmark has."""
        inside = f'echo $$ > {self.group}/tasks && exec "$@"'
        python = [sys.executable, "-S", "-c", PROGRAM]
        given = map(str, (self.file, PEER, cell.loops, cell.way, blocks, self.report))
        return ["chrt", "-o", "0", "sh", "-c", inside, "sh", *python, *given]

    def reported(self) -> tuple[float, float]:
        """Seconds of the stream of the last run, and its processor seconds, without start and end."""
        seconds, used = map(float, self.report.read_text().split())
        return seconds, used


def cells(most: int, way: str | None) -> Iterator[Cell]:
    """Yield cells of the grid, the same ones each time."""
    ways = WAYS if way is None else (way,)
    every = [Cell(*parts) for parts in product(DISKS, LINKS, CORES, LOOPS, ways)]
    yield from random.Random(1).sample(every, min(most, len(every)))


@dataclass(frozen=True)
class CellResult:
    """A cell: what was forecast, what was measured, and what each resource costs when it is halved."""

    predicted: Forecast
    seconds: float
    costs: dict[Resource, float]

    @property
    def error(self) -> float:
        """Of the forecast, as a part of the time measured."""
        return self.predicted.seconds / self.seconds - 1

    @property
    def bound(self) -> Resource:
        """What bound in truth."""
        return max(self.costs, key=lambda resource: self.costs[resource])

    @property
    def right(self) -> bool:
        """Whether that, or one as good, was named."""
        return self.costs[self.predicted.binding] >= self.costs[self.bound] - NEAR


def try_cell(shaped: Shaped, cell: Cell, seconds: float, runs: int) -> CellResult:
    """Forecast a cell, run the program in it, and with each resource halved."""
    processor = _processor_seconds(shaped, cell, runs)
    rate = BLOCK / _forecast(cell, 1, processor).seconds
    blocks = min(FILE_BLOCKS, max(MIN_BLOCKS, int(seconds * rate / BLOCK))) // 16 * 16
    took = _seconds(shaped, cell, blocks, runs)
    halved = {
        Resource.DISK: replace(cell, disk=cell.disk / 2),
        Resource.LINK: replace(cell, link=cell.link / 2),
        Resource.PROCESSOR: replace(cell, cores=cell.cores / 2),
    }
    costs = {name: _seconds(shaped, less, blocks, runs) / took - 1 for name, less in halved.items()}
    return CellResult(_forecast(cell, blocks, processor), took, costs)


def main() -> None:
    """Try the cells and print how far the forecasts were off."""
    asked = arguments(__doc__, most=24, runs=2)
    asked.add_argument("--seconds", type=positive, default=2.5, help="about how long a stream lasts")
    asked.add_argument("--way", choices=WAYS, help="only this way of reading")
    options = asked.parse_args()
    as_root()
    results: dict[str, list[CellResult]] = {}
    with ExitStack() as undo:
        shaped = Shaped(undo, FILE_BLOCKS * BLOCK)
        for cell in cells(options.most, options.way):
            result = try_cell(shaped, cell, options.seconds, options.runs)
            results.setdefault(cell.way, []).append(result)
            cost = ", ".join(f"{name} {part:+.0%}" for name, part in result.costs.items())
            print(
                f"{cell}: forecast {result.predicted.seconds:.2f} s, was {result.seconds:.2f} s "
                f"({result.error:+.0%}); named {result.predicted.binding}, bound {result.bound}: "
                f"{'right' if result.right else 'WRONG'} (halved, costs: {cost})",
                flush=True,
            )
    for way, several in results.items():
        within = sum(abs(result.error) <= 0.15 for result in several)
        middle = statistics.median(abs(result.error) for result in several)
        right = sum(result.right for result in several)
        print(
            f"{way}: {within} of {len(several)} times within 15 % (median error {middle:.0%}); "
            f"{right} of {len(several)} bottlenecks named rightly"
        )


def _processor_seconds(shaped: Shaped, cell: Cell, runs: int) -> float:
    """What a block takes of a processor where nothing is limited: the least of several runs."""
    seconds_per_block = []
    for _ in range(runs):
        shaped.allow(None)
        measured, status = profile(shaped.command(cell, MEASURED_BLOCKS))
        assert status == 0, measured
        used = shaped.reported()[1]
        assert used <= measured.cpu_seconds, "the stream is a part of what ses profile saw"
        seconds_per_block.append(used / MEASURED_BLOCKS)
    return min(seconds_per_block)


def _seconds(shaped: Shaped, cell: Cell, blocks: int, runs: int) -> float:
    """Run the program in a cell, several times; return the seconds of its shortest stream."""
    seconds_each = []
    for _ in range(runs):
        shaped.allow(cell)
        subprocess.run(shaped.command(cell, blocks), check=True)
        seconds_each.append(shaped.reported()[0])
    return min(seconds_each)


def _forecast(cell: Cell, blocks: int, processor: float) -> Forecast:
    moved = (0, blocks * BLOCK) if cell.way == "written" else (blocks * BLOCK, 0)
    work = Work(*moved, blocks * processor, cell.cores)
    return forecast(work, [Place("loop", cell.disk * MB, cell.disk * MB)], cell.link * MB)


if __name__ == "__main__":
    program(main)
