"""What the threads of a program share in the library, watched by ThreadSanitizer."""

import subprocess
from pathlib import Path

import pytest
from mergerfs_union import Union
from plan_double import PlanDouble

ROOT = Path(__file__).parents[2]
FILES = 40


@pytest.fixture(scope="module")
def threads(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The program with the library's sources in it.  TSan knows no fences: the one table that needs them,
    that of directories' own layouts on Lustre, is not reached on a union."""
    program = tmp_path_factory.mktemp("threads") / "threads"
    sources = [path for path in (ROOT / "libses/src").glob("*.c") if not path.name.startswith("preload")]
    command = ["gcc", "-std=gnu11", "-D_GNU_SOURCE", "-g", "-O1", "-fsanitize=thread", "-pthread"]
    command += ["-I", str(ROOT / "libses/src"), "-I", str(ROOT / "libses/include"), "-o", str(program)]
    command += [str(Path(__file__).parent / "probes/threads.c"), *map(str, sources)]
    subprocess.run(command, check=True, timeout=120, capture_output=True)
    return program


def test_threads_that_ask_do_not_race(union: Union, threads: Path) -> None:
    for name in ("one", "two"):
        (union.path / name).mkdir()
    done = union.run(threads, str(FILES), union.path / "one", union.path / "two", library=False)
    assert "ThreadSanitizer" not in done.stderr, done.stderr
    assert done.stdout == "0\n"
    assert len(union.agent.reports) == 8 * FILES


def test_threads_that_take_tickets_do_not_race(union: Union, threads: Path) -> None:
    plan = PlanDouble(union.socket)
    try:
        plan.entry(0, union.path.stat().st_dev)
        for number in range(8 * 6):
            stage, through = union.agent.stages(number % 3, 0)
            place = plan.element(f"union/b{number % 3 + 1}", stage=str(stage), stage_in_union=str(through))
            plan.ticket(0, 1000 + number, place)
        done = union.run(threads, "6", union.path, library=False)
        reports = plan.reports()
    finally:
        plan.close()
    assert "ThreadSanitizer" not in done.stderr, done.stderr
    assert done.stdout == "0\n"
    assert sorted(report.placement_id for report in reports) == [1000 + number for number in range(8 * 6)]
    assert union.agent.asks == []
