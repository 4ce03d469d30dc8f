"""Where everything was built."""

from pathlib import Path

import pytest
from built import BUILD
from extras_built import skip_without_extras


@pytest.fixture(scope="session", autouse=True)
def _extras() -> None:
    skip_without_extras()


@pytest.fixture(scope="session")
def build() -> Path:
    """The CMake build directory of libses."""
    return BUILD
