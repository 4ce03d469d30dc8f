"""What the tests of libses stand on: the built library, probes, a real mergerfs union, a fake agent."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).parent))

from union_fixtures import make_union, union

__all__ = ["make_union", "union"]

ROOT = Path(__file__).parents[2]


@pytest.fixture(scope="session")
def build() -> Path:
    """The CMake build directory of libses."""
    path = ROOT / os.environ.get("SES_BUILD_DIR", "build/libses")
    if not path.is_dir():
        pytest.fail(f"{path} does not exist: run `make native` first")
    return path


@pytest.fixture(scope="session")
def wrapper(public_wrapper: Path) -> Path:
    """The preload library."""
    return public_wrapper


@pytest.fixture(scope="session")
def probes(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The directory of the built probe programs."""
    path = tmp_path_factory.mktemp("probes")
    source = Path(__file__).parent / "probes"
    for command in (["cmake", "-S", source, "-B", path, "-G", "Ninja"], ["cmake", "--build", path]):
        done = subprocess.run(command, capture_output=True, text=True, timeout=600, check=False)
        assert done.returncode == 0, done.stdout + done.stderr
    return path
