"""Whether extras were built; tests of theirs among others' ask."""

import pytest
from built import BUILD


def skip_without_extras() -> None:
    """End a test where the build leaves extras out."""
    if "SES_EXTRAS:BOOL=OFF" in (BUILD / "CMakeCache.txt").read_text():
        pytest.skip(f"{BUILD} was configured with SES_EXTRAS=OFF")
