"""The command line of a benchmark that is a program of its own, and how it ends."""

from __future__ import annotations

import argparse
import math
import signal
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import NoReturn

from ses.demo.work import need_root
from ses_client.errors import SesError

from ses_benchmarks.probe import BenchmarkError
from ses_benchmarks.processes import unwind_when_ended

ROOT = Path(__file__).resolve().parents[2]


def arguments(says: str | None, *, build: bool = False, **numbers: float) -> argparse.ArgumentParser:
    """Return a parser whose help says ``says``, with ``--build`` if it measures what CMake built.

    Each of ``numbers`` is an option with this default: a whole number from 1 on, or a number above 0.
    """
    parser = argparse.ArgumentParser(description=says, formatter_class=argparse.RawDescriptionHelpFormatter)
    if build:
        default = ROOT / "build/libses"
        parser.add_argument("--build", type=Path, default=default, help="where libses was built")
    for name, number in numbers.items():
        kind = whole(1) if isinstance(number, int) else positive
        parser.add_argument(
            f"--{name.replace('_', '-')}", type=kind, default=number, help="[default: %(default)s]"
        )
    return parser


def whole(least: int) -> Callable[[str], int]:
    """Return what reads a whole number from ``least`` on."""

    def read(text: str) -> int:
        if not text.removeprefix("-").isdecimal() or int(text) < least:
            raise argparse.ArgumentTypeError(f"{text!r} is no whole number from {least} on")
        return int(text)

    return read


def positive(text: str) -> float:
    """Read a finite number above 0."""
    try:
        number = float(text)
    except ValueError:
        number = math.nan
    if not 0 < number < math.inf:
        raise argparse.ArgumentTypeError(f"{text!r} is no number above 0")
    return number


def as_root() -> None:
    """Raise DemoError when the caller is not root."""
    need_root("The benchmark", f"{sys.executable} {sys.argv[0]}")


def program(main: Callable[[], int | None]) -> NoReturn:
    """Run a benchmark, and end: with 1 and a sentence where it fails, 128 and the number of a signal.

    What it starts and mounts is undone before.
    """
    unwind_when_ended()
    try:
        sys.exit(main())
    except KeyboardInterrupt:
        sys.exit(128 + signal.SIGINT)
    except subprocess.CalledProcessError as error:
        said = error.stderr.decode(errors="replace") if isinstance(error.stderr, bytes) else error.stderr
        sys.exit(f"{error} {said or ''}".strip())
    except (BenchmarkError, SesError, OSError) as error:
        sys.exit(str(error))
