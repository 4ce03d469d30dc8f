"""Whether the agent reports of placed files what programs measure of themselves, and what that costs.

Unmodified programs under the library write and read files on throttled branches of a mergerfs union, and
say how many bytes they moved in which time; the agent says the same of the file when it ends.  Then a
program writes in small pieces, in seconds in which the agent looks and is stopped (SIGSTOP), in turn.  Agent,
library and union are the real ones, the service is the stand-in of the agent's tests.  No number makes
this fail.  Needs root.

The rows with O_DIRECT are of a second union, of branches of btrfs (:func:`direct_union` says why).

    .venv/bin/python benchmarks/achieved_rates.py [--build build/libses] [--rounds 3] [--only NAME]
        [--pairs 60]
"""

from __future__ import annotations

import json
import os
import re
import signal
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from pathlib import Path

from ses_benchmarks import stand_ins  # noqa: F401  # first: it finds the modules of the tests

# isort: split
from fake_service import FakeService
from running_agent import Agent
from ses.demo.branches import MEGABYTE, BranchPlan, loop_branch, slow_down
from ses.demo.storage import Storage, mount_union, set_up
from ses.demo.throttle import find_throttle
from ses_benchmarks.arguments import arguments, as_root, program, whole
from ses_experiment.papers.dedicated import between

# Room for more than a file of unknown size is taken for: else the union chooses.
PLANS = tuple(BranchPlan(f"b{n}", 40, 20, free=7950, capacity=8000) for n in (1, 2))
WAIT_SECONDS = 120
BTRFS = ("mkfs.btrfs", "--quiet", "--metadata", "single")

# Each says {"written": bytes, "seconds": …, "read": bytes, "reading": seconds}.
PYTHON = """
import json, mmap, os, sys, time
path, how, size = sys.argv[1], sys.argv[2], int(sys.argv[3])
block = b"x" * 262144
pace = 262144 / 30e6
written = read = 0
seconds = reading = 0.0
def paced(step, total):
    begun, done = time.monotonic(), 0
    while done < total:
        step(done)
        done += len(block)
        time.sleep(max(0.0, begun + done / len(block) * pace - time.monotonic()))
    return done, time.monotonic() - begun
begun = time.monotonic()
if how in ("write", "fsync", "sparse", "append"):
    fd = os.open(path, os.O_CREAT | os.O_WRONLY | (os.O_APPEND if how == "append" else 0))
    def step(done):
        if how == "sparse":
            os.lseek(fd, len(block), os.SEEK_CUR)
        os.write(fd, block)
    written, seconds = paced(step, size)
    if how == "fsync":
        os.fsync(fd)
    seconds = time.monotonic() - begun
elif how == "overwrite":
    fd = os.open(path, os.O_CREAT | os.O_RDWR)
    written, _ = paced(lambda done: os.pwrite(fd, block, done % (4 * len(block))), size)
    seconds = time.monotonic() - begun
elif how == "mmap":
    fd = os.open(path, os.O_CREAT | os.O_RDWR)
    os.ftruncate(fd, size)
    with mmap.mmap(fd, size) as memory:
        def step(done):
            memory[done:done + len(block)] = block
        written, _ = paced(step, size // len(block) * len(block))
    seconds = time.monotonic() - begun
elif how == "both":
    fd = os.open(path, os.O_CREAT | os.O_WRONLY)
    other = os.open(path, os.O_RDONLY)
    def step(done):
        global read
        os.write(fd, block)
        read += len(os.read(other, len(block)))
    written, _ = paced(step, size)
    seconds = reading = time.monotonic() - begun
elif how == "pauses":
    fd = os.open(path, os.O_CREAT | os.O_WRONLY)
    for _ in range(3):
        done, took = paced(lambda done: os.write(fd, block), size // 3)
        written, seconds = written + done, seconds + took
        time.sleep(2)
os.close(fd)
print(json.dumps({"written": written, "seconds": seconds, "read": read, "reading": reading}))
"""

PIECES = """
import mmap, os, sys
fd = os.open(sys.argv[1], os.O_CREAT | os.O_WRONLY)
counter = mmap.mmap(os.open(sys.argv[2], os.O_RDWR), 8)
block, done = b"x" * 4096, 0
print("open", flush=True)
while True:
    for _ in range(16):
        os.pwrite(fd, block, done % 1024 * 4096)
        done += 1
    counter[:] = done.to_bytes(8, "little")
"""
SLICE_SECONDS = 1.0


@dataclass(frozen=True)
class Measured:
    """Of one file: bytes and seconds, written and read."""

    written: float
    seconds: float
    read: float = 0.0
    reading: float = 0.0

    @property
    def rates(self) -> tuple[float, float]:
        """MB/s of writing and reading."""
        return (
            self.written / max(self.seconds, 1e-9) / MEGABYTE,
            self.read / max(self.reading, 1e-9) / MEGABYTE,
        )


@dataclass(frozen=True)
class Site:
    """What runs."""

    union: Path
    service: FakeService
    agent: Agent
    library: Path

    def run(self, command: list[str], error: bool = False) -> str:
        """Run a program under the library; what it printed."""
        environment = {**os.environ, "LD_PRELOAD": str(self.library), "LC_ALL": "C"}
        environment |= {"SES_AGENT_SOCKET": str(self.agent.socket), "SES_SYNC_MS": "10000"}
        done = subprocess.run(
            command, env=environment, capture_output=True, text=True, check=True, timeout=300
        )
        return done.stderr if error else done.stdout

    def achieved(self, path: Path) -> dict[str, object]:
        """What was reported of the file when it ended."""
        end = time.monotonic() + WAIT_SECONDS
        while time.monotonic() < end:
            for id, reports in list(self.service.opened_as.items()):
                if reports[-1]["path"] == str(path) and id in self.service.ended_as:
                    achieved: dict[str, object] = self.service.ended_as[id][-1].get("achieved", {})
                    return achieved
            time.sleep(0.1)
        raise SystemExit(f"the agent reported no end of {path}")


def by_python(how: str, megabytes: int) -> Callable[[Site, Path], Measured]:
    """One way of the program above."""

    def run(site: Site, path: Path) -> Measured:
        output = site.run([sys.executable, "-c", PYTHON, str(path), how, str(megabytes * MEGABYTE)])
        return Measured(**json.loads(output))

    return run


def by_dd(megabytes: int, *options: str) -> Callable[[Site, Path], Measured]:
    """``dd``, as it prints itself at its end."""

    def run(site: Site, path: Path) -> Measured:
        count = megabytes * MEGABYTE // 262144
        output = site.run(
            ["dd", "if=/dev/zero", f"of={path}", "bs=256k", f"count={count}", *options], error=True
        )
        match = re.search(r"(\d+) bytes.* copied, ([\d.]+) s", output)
        assert match, output
        return Measured(float(match[1]), float(match[2]))

    return run


def by_fio(megabytes: int, *options: str) -> Callable[[Site, Path], Measured]:
    """``fio``, as its job says."""

    def run(site: Site, path: Path) -> Measured:
        command = ["fio", "--name=job", f"--filename={path}", "--bs=256k", "--create_on_open=1", "--thread"]
        command += ["--fallocate=none", f"--size={megabytes * MEGABYTE // 262144 * 262144}", *options]
        output = site.run([*command, "--ioengine=psync", "--output-format=json"])
        job = json.loads(output[output.index("{") :])["jobs"][0]
        write, read = job["write"], job["read"]
        return Measured(
            *(write["io_bytes"], write["runtime"] / 1000), *(read["io_bytes"], read["runtime"] / 1000)
        )

    return run


PROGRAMS: dict[str, Callable[[Site, Path], Measured]] = {
    "dd": by_dd(800),
    "dd conv=fsync": by_dd(60, "conv=fsync"),
    "dd oflag=dsync": by_dd(40, "oflag=dsync"),
    "fio write": by_fio(120, "--rw=write", "--rate=30m"),
    "fio write sync=dsync": by_fio(40, "--rw=write", "--sync=dsync"),
    "fio randwrite": by_fio(120, "--rw=randwrite", "--rate=30m"),
    "python": by_python("write", 120),
    "python fsync": by_python("fsync", 80),
    "python append": by_python("append", 120),
    "python sparse": by_python("sparse", 120),
    "python overwrite": by_python("overwrite", 120),
    "python mmap": by_python("mmap", 120),
    "python pauses": by_python("pauses", 90),
    "python reads and writes": by_python("both", 120),
}
PROGRAMS_DIRECT: dict[str, Callable[[Site, Path], Measured]] = {
    "dd oflag=direct": by_dd(60, "oflag=direct"),
    "fio write direct=1": by_fio(60, "--rw=write", "--direct=1"),
    "fio randwrite direct=1": by_fio(60, "--rw=randwrite", "--direct=1"),
}


def direct_union(work: Path, undo: ExitStack, plans: Sequence[BranchPlan]) -> Storage:
    """A union on which O_DIRECT works, of throttled branches of btrfs in memory; raises DemoError.

    mergerfs 2.33.5 hands writes on in memory that is not aligned.  ext4 and xfs refuse those with O_DIRECT;
    btrfs writes them through the page cache and returns when the device has them.
    """
    throttle = find_throttle(work.name)
    undo.callback(throttle.close)
    branches = []
    for plan in plans:
        image = Path("/dev/shm") / f"{work.name}-{plan.name}.img"
        branches.append(loop_branch(plan, work / plan.name, image, undo, BTRFS))
        slow_down(branches[-1], throttle, undo)
    mount_union(work / "union", [branch.directory for branch in branches], undo)
    return Storage(work / "union", tuple(branches), True, ())


@contextmanager
def site_of(build: Path, scratch: Path, direct: bool = False) -> Iterator[Site]:
    """Branches, union, agent and the stand-in of the service."""
    with ExitStack() as undo:
        if direct:
            storage = direct_union(scratch, undo, PLANS)
        else:
            storage = set_up(scratch, undo, lambda _: None, PLANS)
        for note in storage.notes:
            print(note)
        targets = {f"union/{branch.name}": branch.directory for branch in storage.branches}
        service = FakeService(storage.union, targets)
        undo.callback(service.close)
        agent = Agent(build / "agent/ses-agent", scratch, service.url)
        undo.callback(agent.stop)
        agent.wait_for("union has")
        time.sleep(1)
        yield Site(storage.union, service, agent, build / "libses-wrapper.so")


def show_accuracy(
    site: Site, programs: dict[str, Callable[[Site, Path], Measured]], rounds: int, only: str | None
) -> None:
    """Print one line for each program: medians."""
    print(f"{'program':26}{'itself':>9}{'agent':>9}{'ratio':>7}   {'worst':>6}  {'on device':>9}  doubts")
    for name, run in programs.items():
        if only is not None and only != name:
            continue
        lines: dict[str, list[tuple[float, float]]] = {}
        last: dict[str, object] = {}
        for turn in range(rounds):
            path = site.union / f"{name.replace(' ', '-').replace('=', '-')}-{turn}"
            itself = run(site, path)
            last = reports = site.achieved(path)
            numbers = [float(str(reports[key])) for key in ("bytes_written", "writing_seconds")]
            numbers += [float(str(reports[key])) for key in ("bytes_read", "reading_seconds")]
            agents = Measured(*numbers)
            for kind, mine, its in zip(("", " (read)"), itself.rates, agents.rates, strict=True):
                if mine > 0:
                    lines.setdefault(kind, []).append((mine, its))
            path.unlink()
        on_device = last["bytes_on_device"]
        part = "-" if on_device is None else f"{float(str(on_device)) / max(1.0, itself.written):.2f}"
        for kind, pairs in lines.items():
            ratios = [its / mine for mine, its in pairs]
            worst = max(ratios, key=lambda ratio: abs(ratio - 1))
            median = [statistics.median(column) for column in zip(*pairs, strict=True)]
            print(
                f"{name + kind:26}{median[0]:9.1f}{median[1]:9.1f}{statistics.median(ratios):7.2f}"
                f"   {worst:6.2f}  {part:>9}  {' '.join(map(str, last['doubts']))}",  # type: ignore[call-overload]
                flush=True,
            )


@dataclass(frozen=True)
class Moment:
    """What a program had done by now: pieces, its processor seconds, seconds."""

    pieces: int
    processor: float
    seconds: float

    @classmethod
    def of(cls, pid: int, counter: Path) -> Moment:
        """Look."""
        processor = int(Path(f"/proc/{pid}/schedstat").read_text().split()[0]) / 1e9
        return cls(int.from_bytes(counter.read_bytes(), "little"), processor, time.monotonic())

    def a_piece(self, before: Moment) -> tuple[float, float]:
        """Processor seconds and seconds of each piece since then."""
        pieces = max(1, self.pieces - before.pieces)
        return (self.processor - before.processor) / pieces, (self.seconds - before.seconds) / pieces


def show_times(site: Site, pairs: int, scratch: Path) -> None:
    """Times of a program that writes small pieces, in seconds in which the agent looks or is stopped.

    On a busy machine its processor time says more than the clock.
    """
    environment = {**os.environ, "LD_PRELOAD": str(site.library), "SES_AGENT_SOCKET": str(site.agent.socket)}
    counter = scratch / "counter"
    counter.write_bytes(bytes(8))
    program = subprocess.Popen(
        [sys.executable, "-c", PIECES, str(site.union / "pieces"), str(counter)],
        env=environment,
        stdout=subprocess.PIPE,
        text=True,
    )
    assert program.stdout is not None
    program.stdout.readline()
    time.sleep(5)  # what is created is followed by then
    times: dict[bool, list[tuple[float, float]]] = {True: [], False: []}
    try:
        for turn in range(2 * pairs):
            looks = turn % 4 in (0, 3)
            site.agent.process.send_signal(signal.SIGCONT if looks else signal.SIGSTOP)
            before = Moment.of(program.pid, counter)
            time.sleep(SLICE_SECONDS)
            times[looks].append(Moment.of(program.pid, counter).a_piece(before))
    finally:
        site.agent.process.send_signal(signal.SIGCONT)
        program.kill()
        program.communicate()
    for place, what in enumerate(("processor time", "time")):
        both = zip(times[True], times[False], strict=True)
        ratios = [with_it[place] / without[place] for with_it, without in both]
        print(
            f"{what} of small writes, agent looking over agent stopped, {pairs} pairs of "
            f"{SLICE_SECONDS:g} s: median {statistics.median(ratios):.4f}, {between(ratios)} "
            f"(pairs {min(ratios):.3f} to {max(ratios):.3f})"
        )


def main() -> None:
    """Measure and print."""
    parser = arguments(__doc__, build=True)
    parser.add_argument("--only", help="one program of the table, and nothing else")
    parser.add_argument("--rounds", type=whole(0), default=3, help="of each program")
    parser.add_argument("--pairs", type=whole(1), default=60, help="pairs of seconds of small writes")
    given = parser.parse_args()
    as_root()
    with tempfile.TemporaryDirectory() as scratch, site_of(given.build, Path(scratch)) as site:
        print(f"load average {os.getloadavg()[0]:.1f}")
        if given.rounds > 0:
            show_accuracy(site, PROGRAMS, given.rounds, given.only)
        if given.only is None:
            show_times(site, given.pairs, Path(scratch))
    if given.rounds > 0:
        with (
            tempfile.TemporaryDirectory() as scratch,
            site_of(given.build, Path(scratch), direct=True) as site,
        ):
            show_accuracy(site, PROGRAMS_DIRECT, given.rounds, given.only)


if __name__ == "__main__":
    program(main)
