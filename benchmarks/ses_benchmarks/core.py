"""The cost of a choice by the decision core, as a program that creates a file makes it."""

from __future__ import annotations

from collections.abc import Generator
from pathlib import Path

from ses.demo.tools import tool

from ses_benchmarks.probe import BenchmarkError, compile_program
from ses_benchmarks.summary import Measurement, summarise

ROOT = Path(__file__).parents[2]
SIZES = (64, 1000, 10000)


def choices(build: Path, pairs: int, calls: int, scratch: Path) -> Generator[Measurement]:
    """A row per size of table; raises BenchmarkError when the program cannot be built or fails."""
    library = build / "core/libses_core.a"
    if not library.exists():
        raise BenchmarkError(f"{library} does not exist: run `make native` first")
    source = ROOT / "benchmarks/core_choice.c"
    program = compile_program(source, scratch / "core_choice", "-I", ROOT / "libses/include", library)
    for size in SIZES:
        runs = [_samples(program, size, max(1, calls * SIZES[0] // size)) for _ in range(pairs)]
        yield summarise(f"core-choice-{size}", "ns", runs, baseline_is="one system call")


def _samples(program: Path, size: int, calls: int) -> tuple[list[float], list[float]]:
    lines = [line.split() for line in tool(program, str(size), str(calls)).splitlines()]
    return [float(line[0]) for line in lines], [float(line[1]) for line in lines]
