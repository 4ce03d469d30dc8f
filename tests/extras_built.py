"""Whether extras were built; tests of theirs among others' ask."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

BUILD = Path(__file__).parents[1] / os.environ.get("SES_BUILD_DIR", "build/libses")


def skip_without_extras() -> None:
    """End a test where the build leaves extras out."""
    if "SES_EXTRAS:BOOL=OFF" in (BUILD / "CMakeCache.txt").read_text():
        pytest.skip(f"{BUILD} was configured with SES_EXTRAS=OFF")
