"""Random calls give a program the same with the library as without: results, errors, descriptors, files.

For a million calls:  SES_IDENTITY_CALLS=1000000 .venv/bin/pytest --timeout 0 tests/identity
"""

import itertools
import os
import subprocess
import threading
from collections.abc import Callable
from pathlib import Path

import pytest
from fake_agent import Ask
from fake_table import CREATED, table_of
from mergerfs_union import NOBODY, Union

CALLS = int(os.environ.get("SES_IDENTITY_CALLS", "12000"))
CHUNK = 3000  # calls of one seed
NOWHERE = "/nowhere/.ses/0"


def begin(union: Union, program: Path, seed: int, user: int, *, library: bool) -> subprocess.Popen[str]:
    """Start the sequence of a seed in a directory of its own."""
    directory = union.path / f"{seed}-{'placed' if library else 'plain'}"
    directory.mkdir()
    os.chown(directory, user, user)
    as_user = ["setpriv", "--reuid", str(user), "--regid", str(user), "--clear-groups"]
    return subprocess.Popen(
        [*(as_user if user else []), str(program), str(seed), str(CHUNK), str(directory)],
        env=union.environment(library=library),
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        text=True,
    )


def first_difference(plain: str, placed: str) -> str:
    """What led to the first line that differs, and both versions of it."""
    lines = itertools.zip_longest(plain.splitlines(), placed.splitlines())
    before: list[str] = []
    for line, other in lines:
        if line != other:
            return "\n".join([*before[-8:], f"without: {line}", f"with:    {other}"])
        before.append(str(line))
    return ""


def ask_for_each(union: Union) -> None:
    """Answer; now and then with a place that does not exist, so that placing fails half-way."""

    def reply(ask: Ask, number: int) -> bytes:
        fields = {"stage": NOWHERE} if number % 11 == 0 else {}
        return union.agent.place(ask, number, **fields)

    union.agent.reply = reply
    union.agent.choose = lambda number: number % 3


class Counter(threading.Thread):
    """Is the agent of a table whose fourth row is a place that does not exist; counts the files."""

    def __init__(self, union: Union, user: int) -> None:
        super().__init__(daemon=True)
        self.table = table_of(union, user)
        self.table.put32(self.table.system_at() + 8, 4)
        self.table.place(3, "union/nowhere", branch="/nowhere")
        self.table.elements()["own"][3] = 9
        self.claims = self.table.users[user]
        self.created = 0
        self.ended = threading.Event()

    def run(self) -> None:
        while not self.ended.wait(0.01):
            self.read()

    def read(self) -> None:
        """Files are closed as soon as they are counted, but for some of those that are there."""
        self.table.count(self.claims)
        own = self.table.elements()["own"]
        own[:] = 0
        own[3] = 1
        self.created += sum(claim.outcome == CREATED for claim in self.claims.take())

    def close(self) -> None:
        self.ended.set()
        self.join()
        self.read()
        self.table.close()


def compare(union: Union, sequence: Path, user: int, way: str, calls: int = CALLS // 4) -> None:
    """Run sequences without and with the library, side by side."""
    ask_for_each(union)
    counter = Counter(union, user) if way == "chosen" else None
    if counter:
        counter.start()
    try:
        first = 1 + user + 500 * (way == "chosen")
        for seed in range(first, first + max(1, calls // CHUNK)):
            runs = [begin(union, sequence, seed, user, library=library) for library in (False, True)]
            plain, placed = (run.communicate(timeout=600)[0] for run in runs)
            assert [run.returncode for run in runs] == [0, 0], f"seed {seed}"
            assert plain.count("\n") > CHUNK
            assert not (difference := first_difference(plain, placed)), f"seed {seed}\n{difference}"
            subprocess.run(["rm", "-rf", *union.path.glob(f"{seed}-*")], check=True, timeout=60)
    finally:
        if counter:
            counter.close()
    union.agent.settle()
    assert union.agent.leftovers() == []
    created = sum(report.outcome == 1 for report in union.agent.reports)
    assert created + (counter.created if counter else 0) > calls // 10, "hardly anything was placed"
    assert not counter or counter.created > calls // 20, "hardly anything was chosen"


WAYS = [("gcc", user, way) for user in (0, NOBODY) for way in ("asked", "chosen")]
WAYS += [("musl-gcc", NOBODY, "chosen")]
OPTIONS = "category.create=mfs,func.mkdir=all"


@pytest.mark.parametrize(("compiler", "user", "way"), WAYS)
def test_no_call_can_tell_that_the_library_is_there(
    make_union: Callable[..., Union], sequences: Callable[[str], Path], compiler: str, user: int, way: str
) -> None:
    """On directories that every branch has: where mergerfs makes a missing one for a file, with the library
    or without, it forgets to hand on the set-group-ID bit."""
    compare(make_union(options=OPTIONS), sequences(compiler), user, way)
