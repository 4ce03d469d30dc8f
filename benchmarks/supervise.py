"""What a program pays for ses-run --supervise, call by call.

The same program with and without a supervisor, in turn.  Both are pinned to one CPU, and the
supervisor is free: the kernel wakes it on the caller's CPU where it can (Linux 6.6), else wherever
it sleeps, which in a virtual machine costs tens of microseconds.  No number makes this fail.

    .venv/bin/python benchmarks/supervise.py [--build build/libses]
"""

from __future__ import annotations

import os
import statistics
import subprocess
import tempfile
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from pathlib import Path

from ses_benchmarks import stand_ins  # noqa: F401  # first: it finds the modules of the tests

# isort: split
from fake_table import CREATED, FakeTable
from ses.demo.storage import mount_union
from ses_benchmarks.arguments import arguments, as_root, program
from ses_benchmarks.chain import UNION
from ses_benchmarks.probe import build_probe
from ses_benchmarks.summary import percentile

CALLS = 900  # besides, create_loop makes a hundred to warm up and one file to open
PAIRS = 7
ROWS = (
    ("open-existing", "open-existing", "open() of a file that is there"),
    ("create-off-policy", "create-absolute", "a create on tmpfs, which the agent does not manage"),
    (
        "create-placed",
        "create-absolute",
        "a create in a union, with a candidate table; against the plain one",
    ),
)


@dataclass(frozen=True)
class Place:
    """Where a row's calls are made, and the table that they choose from."""

    directory: Path
    environment: dict[str, str]
    table: FakeTable


@contextmanager
def made_place(scratch: Path) -> Iterator[tuple[Path, Place]]:
    """A directory on tmpfs, and a union of two branches there with a table for its files."""
    plain, union, branches = scratch / "plain", scratch / "union", [scratch / "b1", scratch / "b2"]
    stage = branches[1] / ".ses/0"
    for directory in (plain, *branches, stage):
        directory.mkdir(parents=True)
    socket = scratch / "agent.sock"
    with ExitStack() as undo:
        mount_union(union, branches, undo, UNION)
        table = FakeTable(socket)
        try:
            table.mount(union.stat().st_dev, str(union))
            table.system(1)
            table.place(0, "union/b2", branch=str(branches[1]))
            table.user()
            yield plain, Place(union, {**os.environ, "SES_AGENT_SOCKET": str(socket)}, table)
        finally:
            table.close()


def run(command: list[str | Path], place: Place) -> list[float]:
    """The nanoseconds of each call."""
    done = subprocess.run(
        [str(part) for part in command],
        env=place.environment,
        capture_output=True,
        text=True,
        timeout=300,
        check=False,
    )
    if done.returncode != 0 or done.stderr:
        raise SystemExit(f"{command[0]} ended with {done.returncode}: {done.stderr.strip()}")
    return [float(line) for line in done.stdout.split()]


def in_pairs(
    probe: list[str | Path], ses_run: Path, place: Place, *, placed: bool
) -> list[list[list[float]]]:
    """Without and with the supervisor, in turn; stops when files were not placed that should be."""
    pairs = []
    for number in range(PAIRS):
        pair: dict[bool, list[float]] = {}
        for supervised in (False, True) if number % 2 else (True, False):
            place.table.users[0].take()
            start: list[str | Path] = [ses_run, "--supervise"] if supervised else []
            pair[supervised] = run([*start, *probe], place)
            placed_calls = sum(claim.outcome == CREATED for claim in place.table.users[0].claims())
            if placed and supervised and placed_calls < CALLS:
                raise SystemExit(f"only {placed_calls} of {CALLS} files were placed")
        pairs.append([pair[False], pair[True]])
    return pairs


def show(name: str, what: str, pairs: list[list[list[float]]]) -> None:
    """One line of microseconds and ratios."""
    plain, supervised = ([statistics.median(pair[side]) / 1000 for pair in pairs] for side in (0, 1))
    ratios = [after / before for before, after in zip(plain, supervised, strict=True)]
    p99 = percentile([second for pair in pairs for second in pair[1]], 99) / 1000
    print(
        f"{name:18} {statistics.median(plain):7.1f} us -> {statistics.median(supervised):7.1f} us"
        f"  x{statistics.median(ratios):6.2f} ({min(ratios):.2f}-{max(ratios):.2f})"
        f"  p99 {p99:7.1f} us  {what}"
    )


def main() -> None:
    """Measure and print."""
    parser = arguments(__doc__, build=True)
    given = parser.parse_args()
    as_root()
    ses_run = given.build.resolve() / "run/ses-run"
    cpu = str(max(os.sched_getaffinity(0)))
    with tempfile.TemporaryDirectory(dir="/dev/shm") as name, made_place(Path(name)) as (plain, place):
        program = build_probe(Path(name))
        for row, call, what in ROWS:
            placed = row == "create-placed"
            directory = place.directory if placed else plain
            probe: list[str | Path] = [program, call, directory, str(CALLS), cpu]
            show(row, what, in_pairs(probe, ses_run, place, placed=placed))


if __name__ == "__main__":
    program(main)
