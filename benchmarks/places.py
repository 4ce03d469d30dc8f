"""What a choice of ``ses place`` costs, by command and in Python, beside what it cannot be faster than.

By command: a process whose modules are loaded opens the ledger, chooses among three directories, claims and
closes the ledger; beside the start of an interpreter that does nothing.  The load of their disk was measured
within the last five seconds.  In Python: ``ses.api.Places`` chooses and claims; beside the commit of a row to
such a file.  Files: ``ses.api.file_set`` creates one, and finds it by name; beside ``open`` and ``stat`` of
a path.  The two sides run in turn.  Printed are the medians, the median of the ratios, and the least of
ours: on a busy machine that one says more.

    .venv/bin/python benchmarks/places.py
"""

from __future__ import annotations

import os
import sqlite3
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from contextlib import closing
from pathlib import Path

import ses.api
from ses_benchmarks.arguments import arguments, program, whole

BY_COMMAND = """
import sys, time
from ses.commands.place import place
from ses.place import claims, placing
began = time.perf_counter()
request = placing.request_of(sys.argv[2:], claims.holder("1s", time.time()), size=1000)
placing.place(request, placing.Path(sys.argv[1]))
print(time.perf_counter() - began)
"""


def timed(call: Callable[[], object]) -> float:
    """Return how many seconds a call takes."""
    began = time.perf_counter()
    call()
    return time.perf_counter() - began


def row(name: str, pairs: list[tuple[float, float]], unit: float, of: str) -> None:
    """Print the medians of both sides, and of their ratios."""
    ours, theirs = (statistics.median(side) / unit for side in zip(*pairs, strict=True))
    ratio = statistics.median(entry / other for entry, other in pairs)
    mark = {1e-3: "ms", 1e-6: "us"}[unit]
    least = min(entry for entry, _ in pairs) / unit
    print(f"{name:<20} {ours:9.2f} {mark} {theirs:9.2f} {mark} {ratio:8.2f} {least:9.2f} {mark}  {of}")


def by_command(among: list[str], ledger: Path, rounds: int) -> None:
    """A choice by a process, and the whole command."""
    choice = [sys.executable, "-c", BY_COMMAND, str(ledger), *among]
    nothing = [sys.executable, "-c", "pass"]
    program = Path(sys.executable).with_name("ses")
    command = [str(program), "place", "--for=1s", f"--ledger={ledger}", "--among", *among]
    usual = [str(program), "--version"]

    def run(what: list[str]) -> str:
        return subprocess.run(what, check=True, capture_output=True, text=True).stdout

    run(choice)  # measures the loads
    pairs = [(float(run(choice)), timed(lambda: run(nothing))) for _ in range(rounds)]
    row("choice by a process", pairs, 1e-3, "the start of an interpreter")
    pairs = [(timed(lambda: run(command)), timed(lambda: run(usual))) for _ in range(rounds)]
    row("ses place, whole", pairs, 1e-3, "ses --version")


def in_python(among: list[str], ledger: Path, rounds: int) -> None:
    """A choice by a prepared chooser, beside a commit."""
    insert = "INSERT INTO row VALUES (NULL, '/scratch', 1000)"
    pairs, ends = [], []
    beside = sqlite3.connect(ledger.with_name("beside"), isolation_level=None)
    with ses.api.Places(among, ledger=ledger) as places, closing(beside):
        beside.execute("PRAGMA journal_mode = WAL")
        beside.execute("PRAGMA synchronous = NORMAL")
        beside.execute("CREATE TABLE row (id INTEGER PRIMARY KEY, path BLOB, bytes INTEGER)")
        for _ in range(rounds):
            place = places.place(size=1000)
            chosen = timed(place.__enter__)
            pairs.append((chosen, timed(lambda: beside.execute(insert))))
            began = time.perf_counter()
            place.__exit__(None, None, None)
            ends.append(time.perf_counter() - began)
    row("choice in Python", pairs, 1e-6, "the commit of a row")
    row("its end", [(end, other) for end, (_, other) in zip(ends, pairs, strict=True)], 1e-6, "the same")
    slowest = sorted(chosen for chosen, _ in pairs)[-(rounds // 100)]
    print(f"slowest hundredth of choices: from {slowest * 1e6:.0f} us (a look, once a second)")


def files(among: list[str], rounds: int) -> None:
    """A file created in a set, and one found there, beside those of a path that is known."""
    placed, plain = ses.api.file_set(among), Path(among[0])
    placed.open("first", "wb").close()
    created = [
        (
            timed(lambda name=f"f{turn}": placed.open(name, "xb").close()),
            timed(lambda path=plain / f"g{turn}": path.open("xb").close()),
        )
        for turn in range(rounds)
    ]
    row("file created", created, 1e-6, "open of a path")
    lookups = [
        (
            timed(lambda name=f"f{turn}": placed.find(name)),
            timed(lambda path=plain / f"g{turn}": path.stat()),
        )
        for turn in range(rounds)
    ]
    row("file found", lookups, 1e-6, "stat of a path")


def main() -> None:
    """Measure all of it."""
    options = arguments(__doc__)
    options.add_argument("--commands", type=whole(1), default=60, help="processes of each kind")
    options.add_argument("--choices", type=whole(100), default=5000, help="choices in Python")
    given = options.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        among = [f"{folder}/{name}" for name in "abc"]
        for entry in among:
            Path(entry).mkdir()
        print(f"{'':<20} {'this':>9}    {'that':>9}    {'ratio':>8} {'least':>9}     that is")
        by_command(among, Path(folder) / "ledger", given.commands)
        in_python(among, Path(folder) / "ledger", given.choices)
        os.environ["XDG_STATE_HOME"] = folder
        files(among, given.choices // 5)


if __name__ == "__main__":
    program(main)
