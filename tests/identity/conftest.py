"""Sequences of calls run on the unions of the tests of libses."""

import functools
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).parents[1] / "libses"))

from union_fixtures import make_union, union

__all__ = ["make_union", "union"]


@pytest.fixture(scope="session")
def sequences(tmp_path_factory: pytest.TempPathFactory) -> Callable[[str], Path]:
    """The program that makes the calls, built by a compiler once, for every user to run."""

    @functools.cache
    def build(compiler: str) -> Path:
        program = tmp_path_factory.mktemp("sequence") / "sequence"
        sources = sorted(Path(__file__).parent.glob("*.c"))
        options = ["-std=c11", "-O1", "-g", "-Wall", "-Wextra", "-Werror", "-o"]
        subprocess.run([compiler, *options, program, *sources], check=True, timeout=600)
        program.parent.chmod(0o755)
        return program

    return build
