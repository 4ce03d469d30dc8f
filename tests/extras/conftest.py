"""Where everything was built."""

from __future__ import annotations

import os
from pathlib import Path

import pytest
from extras_built import skip_without_extras


@pytest.fixture(scope="session", autouse=True)
def _extras() -> None:
    skip_without_extras()


@pytest.fixture(scope="session")
def build() -> Path:
    """The CMake build directory of libses."""
    path = Path(__file__).parents[2] / os.environ.get("SES_BUILD_DIR", "build/libses")
    if not path.is_dir():
        pytest.fail(f"{path} does not exist: run `make native` first")
    return path
