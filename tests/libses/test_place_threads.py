"""What the threads of a program share in the library, watched by ThreadSanitizer."""

import subprocess
from pathlib import Path

import pytest
from fake_table import table_of
from mergerfs_union import Union

ROOT = Path(__file__).parents[2]
FILES = 40


@pytest.fixture(scope="module")
def threads(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The program with the library's sources in it.  TSan knows no fences: of the two that need them, that
    of directories' own layouts on Lustre is not reached on a union, and no thread here writes to the other,
    the candidate table."""
    program = tmp_path_factory.mktemp("threads") / "threads"
    sources = [path for path in (ROOT / "libses/src").glob("*/*.c") if path.parent.name != "calls"]
    sources += [*(ROOT / "libses/core").glob("*.c"), ROOT / "libses/segment/segment.c"]
    command = ["gcc", "-std=gnu11", "-D_GNU_SOURCE", "-g", "-O1", "-fsanitize=thread", "-pthread"]
    command += ["-fno-math-errno"]
    command += ["-I", str(ROOT / "libses/src"), "-I", str(ROOT / "libses/include"), "-o", str(program)]
    command += [str(Path(__file__).parent / "probes/threads.c"), *map(str, sources)]
    subprocess.run(command, check=True, timeout=600, capture_output=True)
    return program


def test_threads_that_ask_do_not_race(union: Union, threads: Path) -> None:
    for name in ("one", "two"):
        (union.path / name).mkdir()
    done = union.run(threads, str(FILES), union.path / "one", union.path / "two", library=False)
    assert "ThreadSanitizer" not in done.stderr, done.stderr
    assert done.stdout == "0\n"
    assert len(union.agent.reports) == 8 * FILES


def test_threads_that_choose_do_not_race(union: Union, threads: Path) -> None:
    table = table_of(union)
    try:
        done = union.run(threads, "6", union.path, library=False)
        claims = table.users[0].claims()
    finally:
        table.close()
    assert "ThreadSanitizer" not in done.stderr, done.stderr
    assert done.stdout == "0\n"
    # Who creates at the very moment in which another thread attaches the claims asks the agent.
    assert claims
    assert sorted(claim.number for claim in claims) == list(range(8 * 6 - len(union.agent.asks)))
