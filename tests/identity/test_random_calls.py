"""Random calls give a program the same with the library as without: results, errors, descriptors, files.

For a million calls:  SES_IDENTITY_CALLS=1000000 .venv/bin/pytest --timeout 0 tests/identity
"""

import itertools
import os
import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest
from agent_double import Ask
from mergerfs_union import NOBODY, Union

CALLS = int(os.environ.get("SES_IDENTITY_CALLS", "12000"))
CHUNK = 3000  # calls of one seed


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
    for one, other in lines:
        if one != other:
            return "\n".join([*before[-8:], f"without: {one}", f"with:    {other}"])
        before.append(str(one))
    return ""


@pytest.mark.parametrize("user", [0, NOBODY], ids=["root", "user"])
def test_no_call_can_tell_that_the_library_is_there(
    make_union: Callable[..., Union], sequence: Path, user: int
) -> None:
    """On directories that every branch has: where mergerfs makes a missing one for a file, with the library
    or without, it forgets to hand on the set-group-ID bit."""
    union = make_union(options="category.create=mfs,func.mkdir=all")

    def reply(ask: Ask, number: int) -> bytes:
        """Now and then a place that does not exist, so that placing fails half-way."""
        fields = {"stage": "/nowhere/.ses/0"} if number % 11 == 0 else {}
        return union.agent.place(ask, number, **fields)

    union.agent.reply = reply
    union.agent.choose = lambda number: number % 3
    sequence.parent.chmod(0o755)
    for seed in range(1 + user, 1 + user + max(1, CALLS // 2 // CHUNK)):
        runs = [begin(union, sequence, seed, user, library=library) for library in (False, True)]
        plain, placed = (run.communicate(timeout=250)[0] for run in runs)
        assert [run.returncode for run in runs] == [0, 0], f"seed {seed}"
        assert plain.count("\n") > CHUNK
        assert not (difference := first_difference(plain, placed)), f"seed {seed}\n{difference}"
        subprocess.run(["rm", "-rf", *union.path.glob(f"{seed}-*")], check=True, timeout=60)
    union.agent.settle()
    assert union.agent.leftovers() == []
    created = [report for report in union.agent.reports if report.outcome == 1]
    assert len(created) > CALLS // 20, "hardly anything was placed"
