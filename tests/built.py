"""What `make native` has built."""

import os
from pathlib import Path

import pytest

BUILD = Path(__file__).resolve().parents[1] / os.environ.get("SES_BUILD_DIR", "build/libses")


def built(name: str) -> Path:
    """Return a program or a library by its path below the build."""
    path = BUILD / name
    if not path.exists():
        pytest.fail(f"{path} does not exist: run `make native` first")
    return path
