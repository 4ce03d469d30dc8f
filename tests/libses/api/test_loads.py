"""ses_loads: what a program that chooses itself sees of the node's table, at one moment."""

import ctypes
import errno
import json
import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from fake_table import ELEMENTS, EXCLUDED_AT, FakeTable
from ses_core.layout import State

READ = """
import dataclasses, json, sys
from ses.api import Loads
try:
    with Loads(sys.argv[1]) as loads:
        print(json.dumps([[dataclasses.asdict(row) for row in loads.read()], loads.age]))
except OSError as error:
    print(json.dumps(error.errno))
"""
# Reads for as long as the other side writes, and checks that all rows are of one moment.
WATCH = """
import sys
from ses.api import Loads
loads, seen = Loads(sys.argv[1]), set()
print("ready", flush=True)
while len(seen) < 200:
    try:
        rows = loads.read()
    except BlockingIOError:  # it is written without pause
        continue
    rates = {row.write_rate for row in rows}
    assert len(rates) == 1, sorted(rates)
    odd = int(rates.pop()) % 2
    assert [row.element for row in rows] == [f"s/e{odd}-{row}" for row in range(64)]
    seen.add(rows[0].write_rate)
print("done", flush=True)
"""


@pytest.fixture
def table(tmp_path: Path) -> Iterator[FakeTable]:
    table = FakeTable(tmp_path / "agent.sock")
    table.mount(tmp_path.stat().st_dev, str(tmp_path))
    yield table
    table.close()


def started(build: Path, tmp_path: Path, program: str, directory: Path) -> subprocess.Popen[str]:
    settings = {"SES_AGENT_SOCKET": str(tmp_path / "agent.sock"), "SES_LIBRARY": str(build / "libses.so.0")}
    command = [sys.executable, "-c", program, directory]
    return subprocess.Popen(command, stdout=subprocess.PIPE, text=True, env={**os.environ, **settings})


def loads(build: Path, tmp_path: Path, directory: Path) -> Any:
    with started(build, tmp_path, READ, directory) as reading:
        assert reading.stdout
        return json.loads(reading.stdout.read())


def test_loads_are_those_of_the_table(build: Path, tmp_path: Path, table: FakeTable) -> None:
    table.system(3)
    for row in range(3):
        table.place(row, f"s/e{row}", branch=f"/b{row}")
    elements = table.elements()
    elements["own"][:3], elements["foreign"][:3] = [1, 2, 3], [0.5, 0, 4]
    elements["busy"][:3], elements["busy"][2] = 0.25, np.nan
    elements["write_rate"][0], elements["reserved"][1] = 5e8, 4e11
    elements["state"][0], elements["state"][1] = State.DEGRADED, State.SCARCE | State.DRAINING
    table.number([2, 0, 1], 3)
    rows, age = loads(build, tmp_path, tmp_path)
    assert [row["element"] for row in rows] == ["s/e0", "s/e1", "s/e2"]
    assert [row["number"] for row in rows] == [2, 0, 1]
    assert [row["own"] for row in rows] == [1, 2, 3]
    assert [row["foreign"] for row in rows] == [0.5, 0, 4]
    assert [row["busy"] for row in rows] == [0.25, 0.25, None]
    assert [row["write_rate"] for row in rows] == [500, 100, 100]
    assert [row["free"] for row in rows] == [900, 500, 900]
    assert [row["degraded"] for row in rows] == [True, False, False]
    assert [row["scarce"] for row in rows] == [False, True, False]
    assert [row["refuses"] for row in rows] == [False, True, False]
    assert age > 0
    table.put64(table.system_at() + EXCLUDED_AT, 1 << 2)
    elements["free"][0] = 0
    rows, _ = loads(build, tmp_path, tmp_path)
    assert [row["refuses"] for row in rows] == [True, True, True]


def test_directory_elsewhere_and_absent_agent_are_said(build: Path, tmp_path: Path, table: FakeTable) -> None:
    table.system(1)
    assert loads(build, tmp_path, Path("/proc")) == 19
    assert loads(build, tmp_path, tmp_path / "absent") == 2
    table.close()
    assert loads(build, tmp_path, tmp_path) == 19


def test_an_open_that_was_not_checked_is_an_error_and_no_crash(build: Path) -> None:
    library = ctypes.CDLL(str(build / "libses.so"), use_errno=True)
    library.ses_loads_element.restype = ctypes.c_void_p
    assert library.ses_loads_read(None, None, 0, None) == -1
    assert ctypes.get_errno() == errno.EINVAL
    assert library.ses_loads_element(None, 0) is None
    library.ses_loads_close(None)


def test_rows_are_of_one_moment_while_the_table_is_written(
    build: Path, tmp_path: Path, table: FakeTable
) -> None:
    """Names and numbers of all rows change together, again and again."""
    table.system(ELEMENTS)
    at = table.system_at()

    def write(number: int) -> None:
        table.put32(at, 2 * number + 1)
        table.elements()["write_rate"][:] = number * 1e6
        for row in range(ELEMENTS):
            table.place(row, f"s/e{number % 2}-{row}")
        table.put64(at + 16, number)
        table.put32(at, 2 * number + 2)

    write(1)
    with started(build, tmp_path, WATCH, tmp_path) as watching:
        assert watching.stdout
        assert watching.stdout.readline() == "ready\n"
        number = 1
        while watching.poll() is None:
            number += 1
            write(number)
        assert watching.stdout.readline() == "done\n"
