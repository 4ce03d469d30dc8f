"""Whether ``ses advise`` forecasts time and bottleneck: against shaped disks, links and processors.

A program reads a file in blocks of 64 KiB, computes on each, and sends it to a peer.  It is measured
unshaped by the code of ``ses profile``.  For each cell of a grid the forecast is made from that and from what
the cell allows, and then the program runs there: an ext4 on a loop device limited by blkio, a link limited by
tc tbf to a network namespace, a share of a processor by a cgroup (v1).  It reads through the page cache, or
with O_DIRECT.  Both are forecast as overlapped: the kernel's limits save up what is not used, so that a
program that waits for each transfer loses nothing here.  The program tells its own time and what it had
used before its first byte, so that its start, which is not streaming, is left out.  Of several runs in a cell
the shortest counts: limits are the same for all of them, and other work on the machine only adds.
A bottleneck was named rightly if twice as much of that resource, and of nothing else, takes 15 % less time.
No number makes this fail.  Needs root.

    .venv/bin/python benchmarks/streaming_forecast.py [--megabytes 16] [--most 48] [--runs 2]
"""

from __future__ import annotations

import argparse
import os
import random
import statistics
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from contextlib import ExitStack
from dataclasses import dataclass, replace
from itertools import product
from pathlib import Path

from ses.demo.throttle import find_throttle
from ses.profiling.run import profile
from ses.streaming.advice import Forecast, Place, Work, forecast
from ses.streaming.model import Resource

MB = 1e6
DISKS, LINKS, CORES, LOOPS = (10, 30, 90), (8, 25, 100), (0.1, 0.3, 0.8), (1, 6, 20)
PERIOD_US = 20_000
PROGRAM = """
import hashlib, mmap, os, socket, sys, time
path, peer, loops, direct = sys.argv[1], sys.argv[2], int(sys.argv[3]), sys.argv[4] == "direct"
told = open(sys.argv[5], "w")
disk = os.open(path, os.O_RDONLY | (os.O_DIRECT if direct else 0))
block = mmap.mmap(-1, 65536)
out = socket.create_connection((peer, 9999))
used, began = sum(os.times()[:4]), time.monotonic()
while count := os.readv(disk, [block]):
    for _ in range(loops):
        hashlib.sha1(block).digest()
    out.sendall(memoryview(block)[:count])
out.shutdown(socket.SHUT_WR)
out.recv(1)
told.write(f"{time.monotonic() - began} {used}")
"""
RECEIVER = """
import socket
server = socket.create_server(("0.0.0.0", 9999))
print("ready", flush=True)
while True:
    one, _ = server.accept()
    while one.recv(1 << 20):
        pass
    one.sendall(b"x")
    one.close()
"""


@dataclass(frozen=True)
class Cell:
    """What is allowed: MB/s, a share of a processor; how much is computed, and whether by O_DIRECT."""

    disk: float
    link: float
    cores: float
    loops: int
    way: str


def run(*command: str) -> str:
    """Return what a command prints; raises CalledProcessError."""
    return subprocess.run(command, check=True, capture_output=True, text=True).stdout.strip()


class Shaped:
    """The disk, the link and the group of processes, made for this run and taken away at its end."""

    def __init__(self, undo: ExitStack, size: int) -> None:
        name = f"ses{os.getpid()}"
        work = Path(tempfile.mkdtemp(dir="/dev/shm"))
        undo.callback(run, "rm", "-r", str(work))
        image, mount = work / "image", work / "mount"
        mount.mkdir()
        run("truncate", "-s", str(size + 64 * 2**20), str(image))
        run("mkfs.ext4", "-q", "-O", "^has_journal", str(image))
        self.loop = run("losetup", "--find", "--show", str(image))
        undo.callback(run, "losetup", "--detach", self.loop)
        run("mount", self.loop, str(mount))
        undo.callback(run, "umount", str(mount))
        self.told = work / "told"
        self.file = mount / "data"
        self.file.write_bytes(os.urandom(size))
        run("sync", "-f", str(self.file))
        self.throttle = find_throttle(name)
        status = Path(self.loop).stat()
        self.device = f"{os.major(status.st_rdev)}:{os.minor(status.st_rdev)}"
        undo.callback(self.throttle.release, self.device)
        run("ip", "netns", "add", name)
        undo.callback(run, "ip", "netns", "delete", name)
        self.veth = f"v{name}"[:15]
        run("ip", "link", "add", self.veth, "type", "veth", "peer", "name", "eth0", "netns", name)
        run("ip", "address", "add", "198.18.18.1/30", "dev", self.veth)
        run("ip", "link", "set", self.veth, "up")
        run("ip", "-n", name, "address", "add", "198.18.18.2/30", "dev", "eth0")
        run("ip", "-n", name, "link", "set", "eth0", "up")
        receiver = subprocess.Popen(
            ["nice", "-n", "-20", "ip", "netns", "exec", name, sys.executable, "-c", RECEIVER],
            stdout=subprocess.PIPE,
        )
        undo.callback(receiver.wait)
        undo.callback(receiver.kill)
        assert receiver.stdout is not None
        receiver.stdout.readline()
        self.group = Path("/sys/fs/cgroup/cpu") / name
        self.group.mkdir()
        undo.callback(self.group.rmdir)
        (self.group / "cpu.shares").write_text("200000")
        (self.group / "cpu.cfs_period_us").write_text(str(PERIOD_US))

    def allow(self, cell: Cell | None) -> None:
        """Limit all three; None: nothing."""
        self.throttle.release(self.device)
        subprocess.run(["tc", "qdisc", "del", "dev", self.veth, "root"], check=False, capture_output=True)
        quota = -1 if cell is None else int(PERIOD_US * cell.cores)
        (self.group / "cpu.cfs_quota_us").write_text(str(quota))
        if cell is not None:
            self.throttle.limit(self.device, int(cell.disk * MB), int(cell.disk * MB))
            rate = f"{int(cell.link * 8 * 1.05)}mbit"  # 5 %: headers and acknowledgements
            tbf = ("root", "tbf", "rate", rate, "burst", "64kb", "latency", "50ms")
            run("tc", "qdisc", "add", "dev", self.veth, *tbf)
        descriptor = os.open(self.file, os.O_RDONLY)
        os.posix_fadvise(descriptor, 0, 0, os.POSIX_FADV_DONTNEED)
        os.close(descriptor)

    def command(self, loops: int, way: str) -> list[str]:
        """The program, inside the group."""
        inside = f'echo $$ > {self.group}/tasks; exec "$@"'
        program = [sys.executable, "-S", "-c", PROGRAM, str(self.file), "198.18.18.2", str(loops), way]
        return ["sh", "-c", inside, "sh", *program, str(self.told)]

    def said(self) -> tuple[float, float]:
        """Seconds of the stream of the last run, and processor seconds before it."""
        seconds, used = map(float, self.told.read_text().split())
        return seconds, used


def cells(most: int) -> Iterator[Cell]:
    """Yield cells of the grid, the same ones each time."""
    every = [Cell(*one) for one in product(DISKS, LINKS, CORES, LOOPS, ("cached", "direct"))]
    yield from random.Random(1).sample(every, min(most, len(every)))


def main() -> None:
    """Try the cells and print how far the forecasts were off."""
    asked = argparse.ArgumentParser()
    asked.add_argument("--megabytes", type=int, default=16)
    asked.add_argument("--most", type=int, default=48)
    asked.add_argument("--runs", type=int, default=2)
    options = asked.parse_args()
    errors: dict[str, list[float]] = {"cached": [], "direct": []}
    right = judged = 0
    with ExitStack() as undo:
        shaped = Shaped(undo, options.megabytes * 2**20)
        size = shaped.file.stat().st_size
        for cell in cells(options.most):
            found = _forecast(shaped, cell, size)
            seconds = _seconds(shaped, cell, options.runs)
            error = found.seconds / seconds - 1
            errors[cell.way].append(abs(error))
            doubled = {
                Resource.DISK: replace(cell, disk=2 * cell.disk),
                Resource.LINK: replace(cell, link=2 * cell.link),
                Resource.PROCESSOR: replace(cell, cores=2 * cell.cores),
            }
            relieved = _seconds(shaped, doubled[found.binding], options.runs)
            judged += 1
            right += relieved < 0.85 * seconds
            print(
                f"{cell}: forecast {found.seconds:.2f} s, was {seconds:.2f} s ({error:+.0%}); "
                f"{found.binding}: with twice of it {relieved:.2f} s",
                flush=True,
            )
    for way, several in errors.items():
        if several:
            within = sum(one <= 0.15 for one in several) / len(several)
            middle = statistics.median(several)
            print(f"{way}: median error {middle:.0%}, {within:.0%} of {len(several)} within 15 %")
    print(f"{right} of {judged} bottlenecks named rightly")


def _seconds(shaped: Shaped, cell: Cell, runs: int) -> float:
    """Run the program in a cell, several times; return the seconds of its shortest stream."""
    found = []
    for _ in range(runs):
        shaped.allow(cell)
        subprocess.run(shaped.command(cell.loops, cell.way), check=True)
        found.append(shaped.said()[0])
    return min(found)


def _forecast(shaped: Shaped, cell: Cell, size: int) -> Forecast:
    shaped.allow(None)
    measured, status = profile(shaped.command(cell.loops, cell.way))
    assert status == 0, measured
    cpu = max(0.0, measured.cpu_seconds - shaped.said()[1])
    work = Work(size, 0, cpu, cell.cores)
    return forecast(work, [Place("loop", cell.disk * MB, cell.disk * MB)], cell.link * MB)


if __name__ == "__main__":
    main()
