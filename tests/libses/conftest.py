"""What the tests of libses stand on: the built library, probes, a real mergerfs union, a fake agent."""

import sys
from pathlib import Path

import pytest
from built import built
from ran import ran

sys.path.insert(0, str(Path(__file__).parent))

from union_fixtures import claims, make_union, publish, table, union

__all__ = ["claims", "make_union", "publish", "table", "union"]


@pytest.fixture(scope="session")
def build() -> Path:
    """The CMake build directory of libses."""
    return built("")


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
        ran(command)
    return path
