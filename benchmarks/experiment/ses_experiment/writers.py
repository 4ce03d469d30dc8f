"""Unmodified programs of several users, each in a session of its own, and their clean end."""

from __future__ import annotations

import subprocess
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from ses.demo.faults import DemoError
from ses.demo.interrupts import Interrupts
from ses.demo.processes import end
from ses.demo.programs import PATH

from ses_experiment.site import FIRST_USER

_LOOK_SECONDS = 0.01


@dataclass(slots=True)
class Program:
    """A running program.  ``seconds`` is its wall time, once it has ended."""

    process: subprocess.Popen[bytes]
    begun: float
    errors: Path
    seconds: float | None = None


@dataclass(slots=True)
class Programs:
    """The programs of one round.  Leaving the ``with`` block ends those that still run."""

    work: Path
    interrupts: Interrupts
    running: list[Program] = field(default_factory=list)

    def __enter__(self) -> Programs:
        return self

    def __exit__(self, *_: object) -> None:
        for program in self.running:
            end(program.process)
            program.errors.unlink(missing_ok=True)

    def start(self, argv: Sequence[str], user: int, environment: Mapping[str, str], directory: Path) -> None:
        """Start a program as a user (a number from 0 on); raises DemoError."""
        self.interrupts.check()
        errors = self.work / f"errors-{len(self.running)}"
        number = FIRST_USER + user
        with errors.open("wb") as output:
            try:
                process = subprocess.Popen(
                    argv,
                    user=number,
                    group=number,
                    extra_groups=(),
                    cwd=directory,
                    env={"PATH": PATH, "LC_ALL": "C", "HOME": "/", **environment},
                    stdin=subprocess.DEVNULL,
                    stdout=subprocess.DEVNULL,
                    stderr=output,
                    start_new_session=True,
                )
            except OSError as error:
                raise DemoError(f"{argv[0]} cannot be started: {error.strerror}.") from error
        self.running.append(Program(process, time.monotonic(), errors))

    def wait(self, limit: float) -> list[float]:
        """Wait for all to end well; returns the seconds each took, in the order they were started.

        Raises DemoError when one fails, or needs more than ``limit`` seconds from now.
        """
        deadline = time.monotonic() + limit
        while left := [program for program in self.running if program.seconds is None]:
            for program in left:
                if program.process.poll() is not None:
                    program.seconds = time.monotonic() - program.begun
                    self._check(program)
            if time.monotonic() >= deadline:
                raise DemoError(f"{len(left)} programs did not end within {limit:.0f} s.")
            self.interrupts.pause(_LOOK_SECONDS)
        return [program.seconds for program in self.running if program.seconds is not None]

    def check(self) -> None:
        """Raise DemoError when one has ended, of programs that never do."""
        for program in self.running:
            if program.process.poll() is not None:
                self._check(program)
                raise DemoError(f"{program.process.args!r} has ended.")

    def _check(self, program: Program) -> None:
        if program.process.returncode != 0:
            words = program.errors.read_text("utf-8", "replace").strip().splitlines()
            reason = words[-1] if words else f"status {program.process.returncode}"
            raise DemoError(f"{program.process.args!r} failed: {reason}")
