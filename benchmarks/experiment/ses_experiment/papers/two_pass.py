"""The external two-pass sort that READ2 (RR-4401) names as its next application: predicted, then run.

``examples/two_pass_sort.c`` sorts a file on a disk of limited speed.  Before it runs, the model says how long
each pass takes and what binds, from the disk's rates (as ``ses calibrate`` measures them) and the processor
time of a sort of a sixteenth, in memory.  Lines of the same length are then sorted near their data on four
nodes (``ses map-near --shuffle``), where each range crosses the network at most once.

What a limit of the kernel saves up while nothing is read, a tenth of a second's bytes, is read at once
afterwards.  So the disk is slow: one turn of reading or writing takes much longer than that.

As root the sort goes before other programs (SCHED_FIFO), so that a busy machine is no part of the comparison.
"""

from __future__ import annotations

import math
import os
import re
import subprocess
import sys
from collections.abc import Callable
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path

from ses import calibration
from ses.demo.branches import BranchPlan, loop_branch, slow_down
from ses.demo.faults import DemoError
from ses.demo.interrupts import Interrupts
from ses.demo.throttle import find_throttle
from ses.demo.tools import tool
from ses.demo.work import SHARED_MEMORY, need_memory, need_root, work_directory
from ses.streaming.advice import Place, Work, forecast

EXAMPLE = Path(__file__).resolve().parents[4] / "examples/two_pass_sort.c"
PASSES = ("runs", "merge")
READ_RATE, WRITE_RATE = 12, 9  # MB/s
NODES = 4
_RUNS = 4  # as many as the memory of the sort holds a part of the file
_SAMPLE = 16  # which part of the file is sorted in memory beforehand
_PRIORITY = "20"  # of SCHED_FIFO
_LIMIT_SECONDS = 3600.0  # of a sort of the largest file
_CALIBRATION_BYTES = 24 * 2**20
_CALIBRATION_ROOM = 360  # MB: it takes a tenth of what is free at most


@dataclass(frozen=True, slots=True)
class Pass:
    """A pass of the sort: seconds, what binds by the model, and bytes read and written."""

    name: str
    predicted: float
    measured: float
    binding: str
    read_bytes: int
    written_bytes: int

    @property
    def error(self) -> float:
        """By how much the run took longer than predicted, as a share."""
        return self.measured / self.predicted - 1


@dataclass(frozen=True, slots=True)
class Near:
    """The sort over all nodes: bytes of its output, and bytes that went between nodes."""

    output_bytes: int
    between_bytes: float
    seconds: float
    same_output: bool

    @property
    def sent(self) -> float:
        """Bytes between nodes for each byte of output."""
        return self.between_bytes / self.output_bytes


def measure(
    megabytes: int, interrupts: Interrupts, progress: Callable[[str], None]
) -> tuple[list[Pass], Near]:
    """Predict and run the sort of so many MiB, then sort near; undoes all it made.  Raises DemoError."""
    need_root("The experiment", "ses experiment sort")
    need_memory(4 * megabytes)
    with interrupts.undoing(progress) as undo:
        work = work_directory(undo, "ses-sort-")
        program = work / "two_pass_sort"
        tool("cc", "-O2", "-o", str(program), str(EXAMPLE))
        throttle = find_throttle(work.name)
        undo.callback(throttle.close)
        room = 4 * megabytes + _CALIBRATION_ROOM
        plan = BranchPlan("disk", READ_RATE, WRITE_RATE, room, room)
        disk = loop_branch(plan, work / "disk", SHARED_MEMORY / f"{work.name}.img", undo)
        data = disk.directory / "input"
        write_records(data, megabytes)
        slow_down(disk, throttle, undo)
        progress("measuring the disk")
        place = calibration.Place("disk", "", disk.directory)
        rates = calibration.measure(place, _CALIBRATION_BYTES, 30.0)
        interrupts.check()
        progress("sorting a sample in memory")
        used = _processor(program, work, max(1, megabytes // _SAMPLE))
        expected = [
            forecast(
                Work(megabytes * 2**20, megabytes * 2**20, used[name] * megabytes, overlapped=False),
                [Place("disk", rates.read_rate, rates.write_rate)],
            )
            for name in PASSES
        ]
        interrupts.check()
        progress(f"sorting {megabytes} MiB: {sum(each.seconds for each in expected):.1f} s predicted")
        run = _sorted(program, data, disk.directory / "output", max(1, megabytes // _RUNS))
        passes = [
            Pass(name, each.seconds, run[name][0], each.binding.value, *map(int, run[name][2:]))
            for name, each in zip(PASSES, expected, strict=True)
        ]
        interrupts.check()
        progress("sorting near the data")
        return passes, _near(work, megabytes)


def write_records(file: Path, megabytes: int) -> None:
    """Write records of 128 random bytes."""
    with file.open("wb") as output:
        for _ in range(megabytes):
            output.write(os.urandom(2**20))
        output.flush()
        os.fsync(output.fileno())
        os.posix_fadvise(output.fileno(), 0, 0, os.POSIX_FADV_DONTNEED)


def _sorted(program: Path, data: Path, output: Path, memory: int) -> dict[str, list[float]]:
    """Sort; of each pass seconds, seconds of the processor, bytes read and written."""
    words = ["chrt", "--fifo", _PRIORITY, str(program), str(data), str(output), str(memory)]
    lines = tool(*words, seconds=_LIMIT_SECONDS).splitlines()
    return {line.split()[0]: [float(word) for word in line.split()[1:]] for line in lines}


def _processor(program: Path, work: Path, megabytes: int) -> dict[str, float]:
    """Processor seconds of each pass for a MiB, of a sort in memory.

    A run of the whole file is longer, so that sorting it compares more: by the logarithm of its records.
    """
    with ExitStack() as undo:
        data, output = (SHARED_MEMORY / f"{work.name}-{name}" for name in ("sample", "sorted"))
        for file in (data, output):
            undo.callback(file.unlink, missing_ok=True)
        write_records(data, megabytes)
        memory = max(1, megabytes // _RUNS)
        run = _sorted(program, data, output, memory)
        records = memory * 2**20 / 128
        deeper = math.log2(records * _SAMPLE) / math.log2(records)
        return {name: run[name][1] / megabytes * (deeper if name == "runs" else 1.0) for name in PASSES}


def _near(work: Path, megabytes: int) -> Near:
    """Sort lines that lie on four nodes by ``ses map-near --shuffle``; the sorted parts stay there."""
    lines = work / "lines"
    names = [f"e{number}" for number in range(1, NODES + 1)]
    held = []
    for name in names:
        (lines / name).mkdir(parents=True)
        (lines / name / "part.txt").write_text(_lines(megabytes * 2**20 // NODES))
        held += ["--held", f"*/{name}/*={name}"]
    into, state = work / "sorted", {**os.environ, "XDG_STATE_HOME": str(work), "TMPDIR": str(work)}
    words = [sys.argv[0], "map-near", "--shuffle", "1", "--into", str(into), "--executor", "command",
             "--rsh", "env", "--no-sample", "--disk-rate", "500MB/s", "--link-rate", "1kB/s", *held,
             *(f"{lines}/{name}/part.txt" for name in names), "--", "cat", "{}"]  # fmt: skip
    done = subprocess.run(words, env=state, capture_output=True, text=True, check=False)
    between = re.search(r"([\d.]+) MB between nodes", done.stderr)
    seconds = re.search(r"in ([\d.]+) s", done.stderr)
    if done.returncode != 0 or between is None:
        raise DemoError(f"ses map-near: {(done.stderr.splitlines() or ['it is not known why'])[-1]}")
    parts = sorted(into.iterdir())
    together = " ".join(map(str, parts))
    same = tool("sh", "-c", f"cat {lines}/*/part.txt | LC_ALL=C sort | sha256sum") == tool(
        "sh", "-c", f"cat {together} | sha256sum"
    )
    output = sum(part.stat().st_size for part in parts)
    return Near(output, float(between[1]) * 1e6, float(seconds[1]) if seconds else math.nan, same)


def _lines(size: int) -> str:
    """Return lines of 128 bytes, of which the first word is the key."""
    return "".join(f"{os.urandom(8).hex()} {os.urandom(55).hex()}\n" for _ in range(size // 128))
