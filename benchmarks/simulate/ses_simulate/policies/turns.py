"""When a node last placed a file on each of its candidates: its own turns, which no other node hears of.

Nodes that took turns in common would all take the same element while they have not heard of each other.
"""

from __future__ import annotations

from collections import deque
from typing import Any

import numpy as np
import numpy.typing as npt

from ses_simulate.policies.interface import File
from ses_simulate.policies.told import HANDOVER


class Turns:
    """The last placements of each of so many nodes, in the order of the node."""

    def __init__(self, nodes: int, candidates: int) -> None:
        self._known = np.zeros((nodes, candidates), np.uint64)
        self._claims: list[deque[tuple[float, str, int]]] = [deque() for _ in range(nodes)]

    def placed(self, now: float, file: File, place: int) -> None:
        """A file was placed; other users of the node see it a little later."""
        self._claims[file.node].append((now, file.user, place))

    def fill(self, turn: npt.NDArray[Any], now: float, file: File, lasting: float) -> None:
        """Fill in the turns that a file's program sees, of the last ``lasting`` seconds."""
        known, claims = self._known[file.node], self._claims[file.node]
        while claims and now - claims[0][0] >= HANDOVER:
            then, _, place = claims.popleft()
            known[place] = stamp(then)
        turn[:] = known
        if lasting < now:
            turn[known < stamp(now - lasting)] = 0
        for then, user, place in claims:
            if user == file.user:
                turn[place] = stamp(then)


def stamp(seconds: float) -> int:
    """Return a moment as the core takes it: never 0, which stands for no turn."""
    return 1 + int(seconds * 1e6)
