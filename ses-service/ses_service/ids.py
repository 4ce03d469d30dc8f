"""Ids nobody can guess, drawn many at once.

Asking the system for randomness lets another thread run, which may keep the asking one waiting for as long
as the interpreter lets threads run: for each ticket of a batch that is too long.
"""

from __future__ import annotations

import os
from collections import deque

_BYTES = 8
_AT_ONCE = 512


class RandomIds:
    """Gives ids of 16 hexadecimal digits, each at most once.  May be called from any thread."""

    def __init__(self) -> None:
        self._drawn: deque[str] = deque()

    def __call__(self) -> str:
        """Return an id that is not all zeros."""
        while True:
            try:
                return self._drawn.popleft()
            except IndexError:
                self._drawn.extend(_draw())


def _draw() -> list[str]:
    drawn = os.urandom(_BYTES * _AT_ONCE).hex()
    ids = (drawn[start : start + 2 * _BYTES] for start in range(0, len(drawn), 2 * _BYTES))
    return [one for one in ids if one.strip("0")]
