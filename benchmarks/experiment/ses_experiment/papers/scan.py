"""The scan of a table by PostgreSQL, as a program like others: it reads a file and returns rows.

Debian's PostgreSQL in single-user mode runs one query over a file of comma-separated numbers (``file_fdw``).
No server runs, so what the scan takes is what the program takes.
"""

from __future__ import annotations

import os
import random
import shutil
import subprocess
from collections.abc import Sequence
from pathlib import Path

from ses.demo.faults import DemoError
from ses.demo.tools import tool

COLUMNS = 100  # integers of a row, as in the paper
SELECTED = 80
"""One of this number of rows is returned."""
AS_USER = ("setpriv", "--reuid=nobody", "--clear-groups", "--")  # PostgreSQL does not run as root
_BLOCK_ROWS = 800
# File, query, beginning of the databases' names, what runs one.
_RUN = """
exec 3<"$0"; if [ -p /dev/fd/3 ]; then chown nobody /dev/fd/3; fi  # a sample is a pipe
query=$1 names=$2; shift 2; cd /
for data in "$names"*; do exec 9<"$data/PG_VERSION"; flock --nonblock 9 && break; done
echo "$query" | "$@" "$data" postgres"""


def installed() -> Path | None:
    """Return the folder of PostgreSQL's programs, if it is installed with file_fdw."""
    libraries = sorted(Path("/usr/lib/postgresql").glob("*/lib/file_fdw.so"))
    return libraries[-1].parents[1] / "bin" if libraries else None


def prepare(work: Path, programs: Path, at_once: int) -> tuple[str, ...]:
    """Make databases below ``work``, as only one process can use one; returns the command that scans ``{}``
    in one that is free.  Raises DemoError.
    """
    data = work / "database1"
    data.mkdir(mode=0o700)
    shutil.chown(data, "nobody")
    quiet([*AS_USER, str(programs / "initdb"), "-D", str(data), "-A", "trust", "-U", "owner", "--no-sync"])
    columns = ", ".join(f"c{number} int" for number in range(COLUMNS))
    table = (
        "create extension file_fdw; create server files foreign data wrapper file_fdw; "
        f"create foreign table numbers ({columns}) server files "
        "options (filename '/dev/fd/3', format 'text', delimiter ',')"
    )
    single = [*AS_USER, str(programs / "postgres"), "--single"]
    # It is stopped after each scan: its checkpoint would wait for a disk that is no part of the experiment.
    for setting in ("log_checkpoints=off", "fsync=off", "jit=off"):
        single += ["-c", setting]
    single.append("-D")
    quiet([*single, str(data), "postgres"], f"{table}\n")
    for number in range(2, at_once + 1):
        tool("cp", "--archive", str(data), str(work / f"database{number}"))
    query = "copy (select * from numbers where c0 = 7) to stdout"
    return ("sh", "-c", _RUN, "{}", query, str(work / "database"), *single)


def write_table(path: Path, megabytes: int, number: int = 0) -> None:
    """Write rows of numbers, of ``megabytes`` or more; ``c0`` is 7 in one of 80.

    Same size and number, same table.
    """
    chance = random.Random(megabytes + 10_000 * number)
    rows = [
        ",".join([str(row % SELECTED), *(str(chance.randrange(10_000)) for _ in range(COLUMNS - 1))])
        for row in range(_BLOCK_ROWS)
    ]
    block = "".join(f"{row}\n" for row in rows).encode()
    with path.open("wb") as file:
        for _ in range(-(-megabytes * 1_000_000 // len(block))):
            file.write(block)
        file.flush()
        os.fsync(file.fileno())


def quiet(argv: Sequence[str], text: str = "") -> None:
    """Run a program of PostgreSQL with what it reads; raises DemoError with what it says."""
    done = subprocess.run(argv, input=text, capture_output=True, text=True, check=False, cwd="/")
    if done.returncode != 0 or "ERROR" in done.stderr:
        raise DemoError(f"PostgreSQL cannot be set up: {done.stderr.strip()}")
