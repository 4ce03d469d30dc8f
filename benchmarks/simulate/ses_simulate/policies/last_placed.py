"""When a node last placed a file on each of its candidates, which no other node hears of.

Nodes that all took the least recently used of idle elements would take the same one while they have not
heard of each other.
"""

from __future__ import annotations

import math
from collections import deque

import numpy as np
import numpy.typing as npt

from ses_simulate.policies.interface import File
from ses_simulate.policies.reports import HANDOVER

SECOND = 1_000_000  # in the unit of `last_placed`
LOOKS = 4.0  # seconds between looks of an agent, which forgets what it saw at the one before
CROWD = 1.0  # files a second by other nodes, for which it does so ...
CROWDED = 600.0  # ... so many seconds


class LastPlaced:
    """The last placements of each of so many nodes, in the order of the node."""

    def __init__(self, nodes: int, candidates: int) -> None:
        self._known = np.zeros((nodes, candidates), np.uint64)
        self._crowd_at = [-math.inf] * nodes
        self._claims: list[deque[tuple[float, str, int]]] = [deque() for _ in range(nodes)]

    def placed(self, now: float, file: File, place: int) -> None:
        """A file was placed; other users of the node see it a little later."""
        self._claims[file.node].append((now, file.user, place))

    def forget(self, node: int) -> None:
        """A node has other candidates from now on."""
        self._known[node] = 0
        self._claims[node].clear()

    def seen(self, now: float, file: File, others: float = 0.0) -> npt.NDArray[np.uint64]:
        """Return the moments that a file's program sees; where ``others`` create many, fresh ones only."""
        known, claims = self._known[file.node], self._claims[file.node]
        while claims and now - claims[0][0] >= HANDOVER:
            then, _, place = claims.popleft()
            known[place] = stamp(then)
        moments: npt.NDArray[np.uint64] = known.copy()
        for then, user, place in claims:
            if user == file.user:
                moments[place] = stamp(then)
        if others >= CROWD:
            self._crowd_at[file.node] = now
        if now - self._crowd_at[file.node] < CROWDED:
            looked = (now // LOOKS - 1) * LOOKS
            moments[moments <= stamp(max(0.0, looked))] = 0
        return moments


def stamp(seconds: float) -> int:
    """Return a moment as the core takes it: never 0, which stands for none."""
    return 1 + int(seconds * SECOND)
