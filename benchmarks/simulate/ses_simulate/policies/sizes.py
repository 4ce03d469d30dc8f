"""The history of the sizes of files that are alike: how large the next one may get."""

from __future__ import annotations

from bisect import insort
from collections import deque

KEPT = 200
FEWEST = 5
QUANTILE = 0.95


class Sizes:
    """Sizes of the last files that were closed."""

    def __init__(self) -> None:
        self._last: deque[float] = deque()
        self._ordered: list[float] = []

    def closed(self, size: float) -> None:
        """A file was closed."""
        self._last.append(size)
        insort(self._ordered, size)
        if len(self._last) > KEPT:
            self._ordered.remove(self._last.popleft())

    def likely(self) -> float:
        """Return a size that few files exceed; negative while too few are known."""
        if len(self._ordered) < FEWEST:
            return -1.0
        return self._ordered[int(QUANTILE * (len(self._ordered) - 1))]
