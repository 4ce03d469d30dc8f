"""A region of its own for each test."""

from __future__ import annotations

import os
import secrets
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).parent))

from ses.share import Region


@pytest.fixture(scope="session")
def build() -> Path:
    """Where libses-share was built."""
    return Path(__file__).parents[2] / os.environ.get("SES_BUILD_DIR", "build/libses")


@pytest.fixture
def name() -> str:
    return f"test-{secrets.token_hex(6)}"


@pytest.fixture
def region(name: str) -> Iterator[Region]:
    with Region.create(name, size=1 << 20, items=64) as made:
        yield made
        Region.remove(name)
