"""libses as a stranger gets it: installed under a prefix, linked by programs that know nothing else."""

from pathlib import Path

import pytest
from stranger_programs import build_with_cmake, run

STRANGER = Path(__file__).parents[1] / "stranger"


@pytest.fixture(scope="session")
def installed(build: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The prefix libses is installed under, without the agent."""
    prefix = tmp_path_factory.mktemp("prefix")
    run(["cmake", "--install", build, "--component", "api", "--prefix", prefix])
    return prefix


@pytest.fixture(scope="session")
def stranger(installed: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The directory of store_c and store_cpp, built by find_package(ses)."""
    return build_with_cmake(STRANGER, tmp_path_factory.mktemp("stranger"), installed)
