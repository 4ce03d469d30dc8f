"""Sequences of calls run on the unions of the tests of libses."""

import subprocess
import sys
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).parents[1] / "libses"))

from union_fixtures import make_union, union

__all__ = ["make_union", "union"]


@pytest.fixture(scope="session")
def sequence(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The program that makes the calls, for every user to run."""
    program = tmp_path_factory.mktemp("sequence") / "sequence"
    sources = sorted(Path(__file__).parent.glob("*.c"))
    options = ["-std=c11", "-O1", "-g", "-Wall", "-Wextra", "-Werror", "-o"]
    subprocess.run(["gcc", *options, program, *sources], check=True, timeout=600)
    return program
