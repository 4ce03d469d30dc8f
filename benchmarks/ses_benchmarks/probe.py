"""Runs of ``create_loop``, with the preload library and without, in turn."""

from __future__ import annotations

import os
import re
import subprocess
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path

SOURCE = Path(__file__).parents[1] / "create_loop.c"
RUN_TIMEOUT_SECONDS, COMPILE_SECONDS = 60, 60


class BenchmarkError(Exception):
    """Something that is measured could not be run; the message says what, and what to do."""


def compile_program(source: Path, program: Path, *more: str | Path) -> Path:
    """Compile a program in C with further arguments; raises BenchmarkError with its message."""
    compiler = os.environ.get("CC", "cc")
    command = [compiler, "-std=gnu11", "-O2", "-Wall", "-Wextra", "-o", program, source, *more]
    done = subprocess.run(command, capture_output=True, text=True, timeout=COMPILE_SECONDS, check=False)
    if done.returncode != 0:
        raise BenchmarkError(f"{source.name} does not compile: {done.stderr}")
    return program


def build_probe(directory: Path) -> Path:
    """Compile create_loop.c into ``directory``; raises BenchmarkError."""
    return compile_program(SOURCE, directory / "create_loop")


@dataclass(frozen=True, slots=True)
class Side:
    """One side of a comparison: which call, and with which library (None: without)."""

    call: str
    directory: Path
    library: Path | None = None
    branch: Path | None = None  # count the created files that lie there
    environment: dict[str, str] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Run:
    """What one process measured: nanoseconds per call, and the created files seen on the branch."""

    nanoseconds: list[float]
    on_branch: int


@dataclass(frozen=True, slots=True)
class Probe:
    """A built create_loop, pinned to one CPU."""

    program: Path
    cpu: int

    def run(self, side: Side, count: int) -> Run:
        """One process making ``count`` calls; raises BenchmarkError when it fails."""
        return self.runs(side, side.call, count)[0]

    def in_turn(
        self, measured: Side, baseline_call: str, count: int, processes: int
    ) -> list[tuple[Run, Run]]:
        """``processes`` processes, each making ``count`` calls of both kinds in turn.

        Closer than ``pairs``, as whatever slows the machine meets neighbouring calls; only for a
        baseline that one process can make past the library (the calls named ``plain-``).
        """
        pairs = []
        for _ in range(processes):
            own, baseline = self.runs(measured, f"{measured.call},{baseline_call}", count)
            pairs.append((own, baseline))
        return pairs

    def runs(self, side: Side, calls: str, count: int) -> list[Run]:
        """What one process measured of each of ``calls``, which it makes in turn; raises BenchmarkError."""
        kept = {key: value for key, value in os.environ.items() if not key.startswith(("SES_", "LD_"))}
        environment = {**kept, **side.environment}
        if side.library:
            # exec-true measures its children, so they get the library and the measuring process does not.
            key = "CHILD_LD_PRELOAD" if side.call == "exec-true" else "LD_PRELOAD"
            environment[key] = str(side.library)
        command = [self.program, calls, side.directory, count, self.cpu]
        if side.branch:
            command.append(side.branch)
        done = subprocess.run(
            [str(part) for part in command],
            env=environment,
            capture_output=True,
            text=True,
            timeout=RUN_TIMEOUT_SECONDS,
            check=False,
        )
        if done.returncode != 0:
            raise BenchmarkError(f"create_loop {calls}: {done.stderr.strip()}")
        seen = re.search(r"on-branch (\d+)", done.stderr)
        lines = (line.split() for line in done.stdout.splitlines())
        columns = zip(*lines, strict=True)
        return [Run([float(word) for word in column], int(seen[1]) if seen else 0) for column in columns]

    def pairs(
        self,
        measured: Side,
        baseline: Side,
        count: int,
        pairs: int,
        settle: Callable[[], None] = lambda: None,
    ) -> list[tuple[Run, Run]]:
        """``pairs`` runs of each, in turn; who goes first changes from pair to pair.

        ``settle`` is called before every run, to wait for what the one before it has set going.
        """
        taken = []
        for pair in range(pairs):
            runs = {}
            for side in (measured, baseline) if pair % 2 == 0 else (baseline, measured):
                settle()
                runs[side is measured] = self.run(side, count)
            taken.append((runs[True], runs[False]))
        return taken
