"""What ``ses profile`` costs a program: the same program with and without it, in pairs.

Three programs: one that computes, one that writes and reads in blocks of 64 KiB on tmpfs, one that starts
a process for each of many small files.  Each works as often as it did in ``--seconds`` by itself.  For each:
the ratio of seconds, and the ratio of processor time, that of the looks included, with the median over
the pairs and the smallest and largest ratio, and the difference in milliseconds.  The start of ``ses``
itself, before the program begins, is not part of it.  On a busy machine believe processor time, and run it
with real-time priority (chrt -f 5).  No number makes this fail.

    .venv/bin/python benchmarks/profile_cost.py [--pairs 9] [--seconds 2]
"""

from __future__ import annotations

import os
import resource
import statistics
import sys
import tempfile
import time
from collections.abc import Callable

from ses.profiling.run import profile
from ses_benchmarks.arguments import arguments, positive, program

PROGRAMS = {
    "computes": """
import hashlib, sys
block = bytes(65536)
for _ in range(int(sys.argv[1])):
    hashlib.sha1(block).digest()
""",
    "writes and reads": """
import os, sys
block = bytes(65536)
file = os.open(sys.argv[2] + "/data", os.O_RDWR | os.O_CREAT)
for _ in range(int(sys.argv[1])):
    os.lseek(file, 0, 0)
    for _ in range(256):
        os.write(file, block)
    os.lseek(file, 0, 0)
    while os.read(file, 65536):
        pass
""",
    "starts processes": """
import os, sys
for number in range(int(sys.argv[1])):
    if os.fork() == 0:
        with open(f"{sys.argv[2]}/{number}", "w") as file:
            file.write("x" * 4096)
        os._exit(0)
    os.wait()
""",
}

_FIRST_TURNS = 16


def plain(command: list[str]) -> tuple[float, float]:
    """Return seconds and processor seconds of a program that nobody looks at."""
    began, before = time.monotonic(), _used()
    pid = os.posix_spawn(command[0], command, os.environ)
    _, status, _ = os.wait4(pid, 0)
    assert status == 0, status
    return time.monotonic() - began, _used() - before


def profiled(command: list[str]) -> tuple[float, float]:
    """Return the same under ``ses profile``, with the processor time of the looks."""
    began, before = time.monotonic(), _used()
    _, status = profile(command)
    assert status == 0, status
    return time.monotonic() - began, _used() - before


def _used() -> float:
    both = [resource.getrusage(who) for who in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN)]
    return sum(usage.ru_utime + usage.ru_stime for usage in both)


def _timed(way: Callable[[list[str]], tuple[float, float]], text: str, turns: int) -> tuple[float, float]:
    with tempfile.TemporaryDirectory(dir="/dev/shm") as work:
        return way([sys.executable, "-S", "-c", text, str(turns), work])


def _turns(text: str, seconds: float) -> int:
    """Return how often a program works in ``seconds``."""
    turns = _FIRST_TURNS
    while (taken := _timed(plain, text, turns)[0]) < seconds / 4:
        turns *= 2
    return int(turns * seconds / taken)


def main() -> None:
    """Measure the pairs and print two lines for each program."""
    asked = arguments(__doc__, pairs=9)
    asked.add_argument("--seconds", type=positive, default=2.0, help="about how long each program runs")
    options = asked.parse_args()
    ways: list[Callable[[list[str]], tuple[float, float]]] = [plain, profiled]
    for name, text in PROGRAMS.items():
        turns = _turns(text, options.seconds)
        pairs = []
        for pair in range(options.pairs):
            seconds_of = {way: _timed(way, text, turns) for way in (ways if pair % 2 else ways[::-1])}
            pairs.append((seconds_of[plain], seconds_of[profiled]))
        for place, what in enumerate(("seconds", "processor time")):
            parts = sorted(mine[place] / other[place] - 1 for other, mine in pairs)
            more = statistics.median(mine[place] - other[place] for other, mine in pairs)
            print(
                f"{name}: {statistics.median(parts):+.1%} {what} ({parts[0]:+.1%} to {parts[-1]:+.1%}), "
                f"{more * 1e3:+.1f} ms of {statistics.median(other[place] for other, _ in pairs):.2f} s",
                flush=True,
            )


if __name__ == "__main__":
    program(main)
