"""Waiting for what happens in the background, with an end."""

from __future__ import annotations

import time
from collections.abc import Callable

import pytest

#: Seconds.  Only a hang uses this up.
PATIENCE = 60.0


def wait_until(check: Callable[[], object], what: str, seconds: float = PATIENCE) -> None:
    """Wait until `check()` is true; fail saying `what` was waited for."""
    end = time.monotonic() + seconds
    while not check():
        if time.monotonic() > end:
            pytest.fail(f"waited {seconds} s in vain until {what}")
        time.sleep(0.01)
