"""When a node last placed a file on each of its candidates, which no other node hears of.

Nodes that all took the least recently used of idle elements would take the same one while they have not
heard of each other.
"""

from __future__ import annotations

from collections import deque

import numpy as np
import numpy.typing as npt

from ses_simulate.policies.interface import File
from ses_simulate.policies.told import HANDOVER

SECOND = 1_000_000  # in the unit of `last_placed`


class LastPlaced:
    """The last placements of each of so many nodes, in the order of the node."""

    def __init__(self, nodes: int, candidates: int) -> None:
        self._known = np.zeros((nodes, candidates), np.uint64)
        self._claims: list[deque[tuple[float, str, int]]] = [deque() for _ in range(nodes)]

    def placed(self, now: float, file: File, place: int) -> None:
        """A file was placed; other users of the node see it a little later."""
        self._claims[file.node].append((now, file.user, place))

    def seen(self, now: float, file: File) -> npt.NDArray[np.uint64]:
        """Return the moments that a file's program sees."""
        known, claims = self._known[file.node], self._claims[file.node]
        while claims and now - claims[0][0] >= HANDOVER:
            then, _, place = claims.popleft()
            known[place] = stamp(then)
        moments: npt.NDArray[np.uint64] = known.copy()
        for then, user, place in claims:
            if user == file.user:
                moments[place] = stamp(then)
        return moments


def stamp(seconds: float) -> int:
    """Return a moment as the core takes it: never 0, which stands for none."""
    return 1 + int(seconds * SECOND)
