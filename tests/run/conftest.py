"""What the tests of ses-run stand on: the built program, and programs of every kind to run."""

import shutil
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest
from built import built

sys.path.insert(0, str(Path(__file__).parent))
sys.path.insert(0, str(Path(__file__).parents[1] / "libses"))

from program_ways import Programs
from union_fixtures import make_union, publish, union

__all__ = ["make_union", "publish", "union"]


@pytest.fixture(scope="session")
def public_directory() -> Iterator[Path]:
    """A directory every user can reach, wherever the checkout lies."""
    with tempfile.TemporaryDirectory(prefix="ses-run-") as directory:
        Path(directory).chmod(0o755)
        yield Path(directory)


@pytest.fixture(scope="session")
def ses_run(public_directory: Path) -> Path:
    """A copy of ses-run, with the library and the supervisor where it looks for them."""
    place = public_directory / "run"
    place.mkdir(mode=0o755)
    for name in ("libses-wrapper.so", "run/ses-run", "run/ses-supervisor"):
        shutil.copy(built(name), public_directory / name)
    return place / "ses-run"


@pytest.fixture(scope="session")
def programs(public_directory: Path) -> Programs:
    """Programs by the way they are built."""
    directory = public_directory / "programs"
    directory.mkdir(mode=0o755)
    return Programs(directory)
