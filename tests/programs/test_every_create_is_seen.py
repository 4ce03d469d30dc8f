"""Real programs, unchanged: every file the kernel sees them create, the library has seen."""

import os
import shutil
import sys
from pathlib import Path

import pytest
from creations import TRACED, Creations
from mergerfs_union import Union
from program_rows import ROWS, Row, require

SOURCES = Path(__file__).parent / "sources"
C_SOURCE = '#include <stdio.h>\nint main(void) { puts("hello"); return 0; }\n'


def prepare(directory: Path, user: int) -> None:
    directory.mkdir()
    (directory / "input").write_text("one\ntwo\nthree\n")
    (directory / "source.c").write_text(C_SOURCE)
    (directory / "tree").mkdir()
    for name in ("a", "b", "c"):
        (directory / "tree" / name).write_text(name)
    shutil.make_archive(str(directory / "tree"), "tar", directory, "tree")
    os.chown(directory, user, user)


def files(directory: Path) -> set[str]:
    return {str(path) for path in directory.rglob("*") if path.is_file()}


def foreign(directory: Path) -> str:
    """A directory of another file system with a file to be moved from there."""
    (directory / "foreign").write_text("foreign")
    return str(directory)


def run(union: Union, row: Row, directory: Path, tracer: tuple[str, ...], elsewhere: Path) -> None:
    """Run a row in a directory; under a tracer, or under the library."""
    as_user = ("setpriv", "--reuid", str(row.user), "--regid", str(row.user), "--clear-groups")
    union.run(
        *tracer,
        *(as_user if row.user else ()),
        *("bash", "-e", "-c", row.script),
        library=not tracer,
        cwd=directory,
        TMPDIR=str(directory),
        SOURCES=str(SOURCES),
        PYTHON=sys.executable,
        ELSEWHERE=foreign(elsewhere),
    )


@pytest.mark.parametrize("program", ROWS)
def test_every_file_a_program_creates_is_seen(union: Union, program: str, tmp_path: Path) -> None:
    row = ROWS[program]
    require(row)
    plain, placed = union.path / "plain", union.path / "placed"
    for directory in (plain, placed):
        prepare(directory, row.user)
    trace = tmp_path / "trace"
    before = files(plain)
    tracer = (
        "strace",
        "-f",
        "--seccomp-bpf",
        "-y",
        "-qq",
        "-s",
        "4096",
        "-e",
        f"trace={TRACED}",
        "-o",
        str(trace),
    )
    run(union, row, plain, tracer, tmp_path)
    created = Creations(plain, existing=before).read(trace.read_text()).created

    union.agent.choose = lambda number: number % 3
    run(union, row, placed, (), tmp_path)
    assert created != []
    assert len(union.agent.asks) == sum(suited for _, suited in created), created
    assert {report.outcome for report in union.agent.reports} == {1}
    assert union.agent.leftovers() == []

    # Names outlive inodes: a file that was not suited may have got the number of one that was and is gone.
    branch_of = {report.inode: (report.placement_id & 0xFFFFFFFF) % 3 for report in union.agent.reports}
    for path in map(Path, files(placed)):
        stat = path.stat()
        if stat.st_ino in branch_of and stat.st_mode & 0o600 == 0o600:
            assert union.copies(path) == [branch_of[stat.st_ino]], path
