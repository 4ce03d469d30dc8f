"""The parts of the plan that need no agent: dealing under contention, rubbish, how much, which entries."""

from __future__ import annotations

import shlex
import subprocess
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
SOURCES = ("plan_board", "plan_demand", "plan_elements", "plan_entries", "plan_ring", "lustre_place", "wire")

pytestmark = pytest.mark.timeout(1000)  # the compiler takes its time on a busy machine


@pytest.fixture(scope="module")
def parts(tmp_path_factory: pytest.TempPathFactory) -> Path:
    program = tmp_path_factory.mktemp("plan") / "plan_parts"
    agent = ROOT / "libses" / "agent"
    libraries = subprocess.run(
        ["pkg-config", "--cflags", "--libs", "spdlog", "fmt"], capture_output=True, text=True, check=True
    ).stdout
    command = [
        "c++", "-std=c++20", "-g", "-O1", "-fsanitize=address,undefined", "-fno-sanitize-recover=all",
        "-pthread", f"-I{agent}", f"-I{ROOT / 'libses' / 'include'}", "-o", program,
        Path(__file__).parent / "probes" / "plan_parts.cpp",
        *(agent / f"{name}.cpp" for name in SOURCES), *shlex.split(libraries),
    ]  # fmt: skip
    done = subprocess.run(command, capture_output=True, text=True, timeout=900, check=False)
    assert done.returncode == 0, done.stderr
    return program


def run(parts: Path, *arguments: str, text: str = "") -> str:
    done = subprocess.run(
        [parts, *arguments], input=text, capture_output=True, text=True, timeout=300, check=False
    )
    assert done.returncode == 0, done.stderr
    return done.stdout


def test_each_ticket_is_taken_once_or_withdrawn_and_whole(parts: Path) -> None:
    _, taken, _, withdrawn = run(parts, "race").split()
    assert int(taken) > 0
    assert int(withdrawn) > 0


@pytest.mark.parametrize("seed", range(3))
def test_rubbish_breaks_no_part(parts: Path, seed: int) -> None:
    _, reports, _, wiped = run(parts, "rubbish", str(seed)).split()
    assert int(reports) > 0
    assert int(wiped) > 0


def levels(parts: Path, *steps: tuple[int, int, int]) -> list[int]:
    """The stock wanted after each step of time (ms), taken and missed."""
    text = "".join(f"{at} {taken} {missed}\n" for at, taken, missed in steps)
    return [int(line) for line in run(parts, "demand", text=text).split()]


def test_stock_doubles_with_use_up_to_the_most_a_plan_holds(parts: Path) -> None:
    steps, taken = [], 1
    for at in range(0, 400, 20):
        steps.append((at, taken, 0))
        taken = min(taken * 2, 1024)
    assert levels(parts, *steps)[:4] == [1, 2, 4, 8]
    assert max(levels(parts, *steps)) == 1024


def test_stock_shrinks_to_one_within_seconds(parts: Path) -> None:
    busy = [(at, 2000, 0) for at in range(0, 200, 20)]
    idle = [(at, 0, 0) for at in range(200, 7000, 100)]
    result = levels(parts, *busy, *idle)
    assert result[9] == 1024
    assert result[-1] == 1


def test_slow_use_keeps_the_stock_small(parts: Path) -> None:
    assert max(levels(parts, *[(at, int(at % 1000 == 0), 0) for at in range(0, 60000, 100)])) == 1
    assert max(levels(parts, *[(at, int(at % 300 == 0), 0) for at in range(0, 60000, 100)])) <= 2


def test_one_file_that_found_nothing_is_no_storm(parts: Path) -> None:
    assert max(levels(parts, (0, 1, 1), *[(at, 0, 0) for at in range(20, 5000, 20)])) == 2


def test_saying_that_something_is_missing_books_only_a_few(parts: Path) -> None:
    assert max(levels(parts, *[(at, 0, 1024) for at in range(0, 5000, 20)])) == 8


def test_default_entry_only_behind_all_applications_with_needs(parts: Path) -> None:
    def entries(text: str) -> list[str]:
        return run(parts, "entries", text=text).split()

    assert entries("1 1 tar dd") == ["s0:dd", "s0:tar", "s0:", "s0:asked"]
    assert entries("1 0 tar dd") == ["s0:dd", "s0:tar", "s0:asked"]
    assert entries("2 1 tar") == ["s0:tar", "s0:", "s1:tar", "s1:", "s0:asked"]
    many = " ".join(f"a{number:02}" for number in range(40))
    assert [name for name in entries(f"2 1 {many}") if name.endswith(":")] == ["s0:"]
    assert len(entries(f"2 1 {many}")) == 64
    assert "s0:" in entries("1 1 " + " ".join(f"a{number:02}" for number in range(63)))
    assert "s0:" not in entries("1 1 " + " ".join(f"a{number:02}" for number in range(64)))
    assert entries(f"1 1 {'x' * 64}") == ["s0:", "s0:asked"]
    assert not [name for name in entries("10 1") if name.startswith("s9:")]
