"""The command line of a benchmark that is a program of its own."""

from __future__ import annotations

import argparse
from pathlib import Path

from ses_benchmarks.processes import unwind_when_ended

ROOT = Path(__file__).resolve().parents[2]


def arguments(says: str | None, *, build: bool = False) -> argparse.ArgumentParser:
    """Return a parser whose help says ``says``, with ``--build`` if it measures what CMake built.

    What the benchmark starts and mounts from now on is undone when it is asked to end.
    """
    unwind_when_ended()
    parser = argparse.ArgumentParser(description=says, formatter_class=argparse.RawDescriptionHelpFormatter)
    if build:
        default = ROOT / "build/libses"
        parser.add_argument("--build", type=Path, default=default, help="where libses was built")
    return parser
