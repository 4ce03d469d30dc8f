"""What the tests of ses-copy and ses-migrate stand on: the built programs, unions, a fake agent."""

import json
import os
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from ran import ran

sys.path.insert(0, str(Path(__file__).parent))
sys.path.insert(0, str(Path(__file__).parents[1] / "libses"))

from mergerfs_union import Union
from union_fixtures import make_union, union

__all__ = ["make_union", "union"]


@pytest.fixture(scope="session")
def built() -> Path:
    """The directory of the built programs."""
    return Path(__file__).parents[2] / "build/libses/copy"


@pytest.fixture
def copy(built: Path, tmp_path: Path) -> Callable[..., dict[str, Any]]:
    """Run ses-copy where no agent is; return its report."""

    def run(*arguments: str | Path, status: int = 0) -> dict[str, Any]:
        done = ran(
            [built / "ses-copy", "--json", "--verbose", *arguments], code=status,
            env={"PATH": os.environ["PATH"], "SES_AGENT_SOCKET": "/nowhere"}, cwd=tmp_path,
        )  # fmt: skip
        return {**(json.loads(done.stdout) if done.stdout else {}), "stderr": done.stderr}

    return run


@pytest.fixture
def migrate(built: Path, union: Union) -> Callable[..., dict[str, Any]]:
    """Run ses-migrate on files of the union; return its report."""

    def run(*arguments: str | Path, status: int = 0) -> dict[str, Any]:
        done = union.run(built / "ses-migrate", "--json", "--verbose", *arguments, library=False, check=False)
        assert done.returncode == status, (done.returncode, done.stdout, done.stderr)
        return {**json.loads(done.stdout), "stderr": done.stderr}

    return run
