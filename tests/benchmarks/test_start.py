"""Every benchmark fits the parts and the tests as they are, also when nobody ran it for a while."""

import sys
from pathlib import Path

import pytest
from ran import ran

BENCHMARKS = Path(__file__).parents[2] / "benchmarks"
PROGRAMS = sorted(
    path.parent if path.name == "__main__.py" else path
    for folder in (".", "attackers", "knowledge", "monitor")
    for path in (BENCHMARKS / folder).glob("*.py")
    if "ArgumentParser" in path.read_text("utf-8") or "arguments(" in path.read_text("utf-8")
)
HEADERS = [
    f"-I{BENCHMARKS.parent / folder}"
    for folder in ("libses/include", "libses", "libses/extras/include", "libses/src")
]


@pytest.mark.parametrize("program", PROGRAMS, ids=lambda path: path.stem)
def test_a_benchmark_starts_and_says_what_it_takes(program: Path) -> None:
    assert len(PROGRAMS) > 15
    done = ran([sys.executable, program, "--help"])
    assert "usage:" in done.stdout


@pytest.mark.parametrize("source", sorted(BENCHMARKS.glob("*.c")), ids=lambda path: path.stem)
def test_a_benchmark_in_c_compiles_with_the_headers(source: Path) -> None:
    command = ["cc", "-std=gnu11", "-fsyntax-only", "-Wall", "-Wextra", "-Werror", *HEADERS, source]
    ran(command)
