"""The cost of a choice by the decision core, as a program that creates a file makes it."""

from __future__ import annotations

import os
import subprocess
from collections.abc import Generator
from pathlib import Path

from ses_benchmarks.probe import BenchmarkError
from ses_benchmarks.summary import Measurement, summarise

ROOT = Path(__file__).parents[2]
SIZES = (64, 1000, 10000)
SECONDS = 60


def choices(build: Path, pairs: int, calls: int, scratch: Path) -> Generator[Measurement]:
    """A row per size of table; raises BenchmarkError when the program cannot be built or fails."""
    library = build / "core/libses_core.a"
    if not library.exists():
        raise BenchmarkError(f"{library} does not exist: run `make native` first")
    program = scratch / "core_choice"
    command: list[str | Path] = [os.environ.get("CC", "cc"), "-std=gnu11", "-O2", "-Wall", "-Wextra"]
    command += ["-I", ROOT / "libses/include", ROOT / "benchmarks/core_choice.c", library, "-o", program]
    _run(command)
    for size in SIZES:
        runs = [_samples(program, size, max(1, calls * SIZES[0] // size)) for _ in range(pairs)]
        yield summarise(f"core-choice-{size}", "ns", runs, baseline_is="one system call")


def _run(command: list[str | Path]) -> str:
    done = subprocess.run(command, capture_output=True, text=True, timeout=SECONDS, check=False)
    if done.returncode != 0:
        raise BenchmarkError(f"{command[0]}: {done.stderr}")
    return done.stdout


def _samples(program: Path, size: int, calls: int) -> tuple[list[float], list[float]]:
    lines = [line.split() for line in _run([program, str(size), str(calls)]).splitlines()]
    return [float(line[0]) for line in lines], [float(line[1]) for line in lines]
