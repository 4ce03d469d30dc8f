"""Waiting for what happens in the background, with an end."""

from __future__ import annotations

import os
import time
from collections.abc import Callable

import pytest

#: Seconds.  Only a hang uses this up.
PATIENCE = 120.0
#: Seconds.  What happens within them is no matter of a pause of the machine.
SOON = 0.9


def wait_until(
    check: Callable[[], object], what: str | Callable[[], object] = "it came about", seconds: float = PATIENCE
) -> None:
    """Wait until `check()` is true; fail saying what was waited for, or what is to be seen then."""
    end = time.monotonic() + seconds
    while not check():
        if time.monotonic() > end:
            pytest.fail(f"waited {seconds} s in vain: {what() if callable(what) else what}")
        time.sleep(0.01)


def moves(*files: int) -> bool:
    """Write to open files, which hold something then: one in which nothing moves for three seconds is no
    stream until something does, and so long a busy machine may take to look at it."""
    for fd in files:
        os.pwrite(fd, b"x", 0)
    return True
